package index

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/materializer"
)

// A file is an open database: one connection that writes, some that read.
type file struct {
	w, r  *sql.DB
	epoch string // random, new each time the file is created
	stmts map[string]*sql.Stmt

	change  int64 // the number of the last change written
	live    int   // rows outside of the trash
	merging merging
	floors  map[int]materializer.Floor
}

// openFile opens the index of a log, and creates the file if there is none.
func openFile(ctx context.Context, path, log string) (*file, error) {
	if err := touch(path); err != nil {
		return nil, err
	}
	w, err := sql.Open("sqlite", dsn(path, "cache_size(-32768)", "wal_autocheckpoint(4000)"))
	if err != nil {
		return nil, err
	}
	w.SetMaxOpenConns(1)
	r, err := sql.Open("sqlite", dsn(path, "cache_size(-16384)", "query_only(1)"))
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	r.SetMaxOpenConns(4) // more would only wait for each other
	r.SetMaxIdleConns(4)
	f := &file{w: w, r: r, stmts: map[string]*sql.Stmt{}, floors: map[int]materializer.Floor{}}
	if err := f.prepare(ctx, log); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *file) close() {
	for _, s := range f.stmts {
		_ = s.Close()
	}
	_ = f.r.Close()
	_ = f.w.Close()
}

// prepare creates the tables in an empty file, or checks those of an existing one,
// and reads what is kept in memory.
func (f *file) prepare(ctx context.Context, log string) error {
	var have, tables int
	if err := f.w.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return err
	}
	if err := f.w.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return err
	}
	if have == 0 && tables == 0 {
		if err := makeTables(ctx, f.w, log); err != nil {
			return err
		}
	} else if have != version {
		return fmt.Errorf("version %d: %w", have, errUnusable)
	}
	if err := f.readMeta(ctx, log); err != nil {
		return err
	}
	for _, probe := range []string{
		`SELECT rowid FROM words WHERE words MATCH 'a' LIMIT 1`,
		`SELECT rowid FROM headings WHERE headings MATCH 'aaa' LIMIT 1`,
		`SELECT rowid FROM prompt_words WHERE prompt_words MATCH 'a' LIMIT 1`,
	} {
		if _, err := f.w.ExecContext(ctx, probe); err != nil {
			return err
		}
	}
	for name, text := range statements {
		s, err := f.w.PrepareContext(ctx, text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.stmts[name] = s
	}
	return nil
}

func (f *file) readMeta(ctx context.Context, log string) error {
	var of string
	if err := f.w.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'log'`).Scan(&of); err != nil {
		return err
	}
	if of != log {
		return fmt.Errorf("log %q: %w", of, errUnusable)
	}
	err := f.w.QueryRowContext(ctx, `SELECT value, (SELECT count(*) FROM sessions INDEXED BY by_entries WHERE deleted = 0),
		max((SELECT coalesce(max(change), 0) FROM sessions), (SELECT coalesce(max(change), 0) FROM removed))
		FROM meta WHERE key = 'epoch'`).Scan(&f.epoch, &f.live, &f.change)
	if err != nil {
		return err
	}
	if err := f.w.QueryRowContext(ctx, `SELECT coalesce((SELECT value FROM meta WHERE key = 'merging'), '')`).Scan(&f.merging); err != nil {
		return err
	}
	rows, err := f.w.QueryContext(ctx, `SELECT shard, floor FROM floors`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var shard int
		var text string
		if err := rows.Scan(&shard, &text); err != nil {
			return err
		}
		var fl materializer.Floor
		if err := json.Unmarshal([]byte(text), &fl); err != nil {
			return fmt.Errorf("floor of shard %d: %v: %w", shard, err, errUnusable)
		}
		f.floors[shard] = fl
	}
	return rows.Err()
}

func makeTables(ctx context.Context, db *sql.DB, log string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	var epoch [8]byte
	_, _ = rand.Read(epoch[:]) // it never fails
	const meta = `INSERT INTO meta(key, value) VALUES('log', ?), ('epoch', ?)`
	if _, err := tx.ExecContext(ctx, meta, log, hex.EncodeToString(epoch[:])); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version)); err != nil {
		return err
	}
	return tx.Commit()
}
