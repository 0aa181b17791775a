package index

import "context"

// A merging is the state of a merge of the whole full-text table of texts. Afterwards,
// nothing is left of texts that were trimmed before it began. It is stored, so that it
// continues after a restart.
type merging string

const (
	merged       merging = ""        // nothing to do
	mergeWanted  merging = "wanted"  // to begin
	mergeRunning merging = "running" // has begun
	mergeAgain   merging = "again"   // has begun, and is wanted again
)

// requested returns the state after a merge is requested.
func (m merging) requested() merging {
	if m == mergeRunning || m == mergeAgain {
		return mergeAgain
	}
	return mergeWanted
}

// ended returns the state after a merge has ended.
func (m merging) ended() merging {
	if m == mergeAgain {
		return mergeWanted
	}
	return merged
}

// mergePages is how many pages of 4 KB are written in one step, so that a request to
// erase a text costs little each second, however large the file is.
const mergePages = 1000

// mergeMore does one step of a merge that was requested.
func (f *file) mergeMore(ctx context.Context) error {
	if f.merging == merged {
		return nil
	}
	tx, err := f.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	pages, next := mergePages, f.merging
	if next == mergeWanted {
		pages, next = -mergePages, mergeRunning // negative: of all segments
	}
	var before, after int64
	if err := tx.QueryRowContext(ctx, `SELECT total_changes()`).Scan(&before); err != nil {
		return err
	}
	if _, err := tx.StmtContext(ctx, f.stmts["mergeWords"]).ExecContext(ctx, pages); err != nil {
		return err
	}
	if err := tx.QueryRowContext(ctx, `SELECT total_changes()`).Scan(&after); err != nil {
		return err
	}
	if after-before < 2 { // FTS5 has written nothing
		next = next.ended()
	}
	if _, err := tx.StmtContext(ctx, f.stmts["merging"]).ExecContext(ctx, next); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	f.merging = next
	// The write-ahead log still has the old pages.
	_, _ = f.w.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return nil
}
