package prompts

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer/internal/sqlitefile"
)

// version is that of the schema and of what is read from entries. A file with
// another one is made again.
const version = 1

// The text is in prompts alone; the index refers to it. What is deleted is
// overwritten, in both.
const schema = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions(session TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE prompts(
	id INTEGER PRIMARY KEY,
	session TEXT NOT NULL, place INTEGER NOT NULL, part INTEGER NOT NULL, entry TEXT NOT NULL,
	dialect TEXT NOT NULL, host TEXT NOT NULL, cwd TEXT NOT NULL,
	created_at INTEGER NOT NULL, prompt TEXT NOT NULL, cut INTEGER NOT NULL,
	UNIQUE(session, place, part)
);
CREATE INDEX prompts_newest ON prompts(created_at, session, place, part);
CREATE INDEX prompts_where ON prompts(cwd, created_at, session, place, part);
CREATE VIEW spaced_prompts AS SELECT id, spaced(prompt) AS prompt FROM prompts;
CREATE VIRTUAL TABLE words USING fts5(prompt, content='spaced_prompts', content_rowid='id', tokenize='unicode61 remove_diacritics 2');
INSERT INTO words(words, rank) VALUES('secure-delete', 1);
CREATE TRIGGER prompts_in AFTER INSERT ON prompts BEGIN
	INSERT INTO words(rowid, prompt) VALUES(new.id, spaced(new.prompt));
END;
CREATE TRIGGER prompts_out AFTER DELETE ON prompts BEGIN
	INSERT INTO words(words, rowid, prompt) VALUES('delete', old.id, spaced(old.prompt));
END;
`

// openFile opens the history of a log, making the file where it is absent, and
// returns how far each session was read.
func openFile(ctx context.Context, path, log string) (*sql.DB, map[core.SessionID]uint64, error) {
	if err := sqlitefile.Touch(path); err != nil {
		return nil, nil, err
	}
	db, err := sql.Open("sqlite", sqlitefile.DSN(path))
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(4) // a file, not a server: more only wait for each other
	if err := prepare(ctx, db, log); err != nil {
		_ = db.Close()
		return nil, nil, err
	}
	seqs, err := readSeqs(ctx, db)
	if err != nil {
		_ = db.Close()
		return nil, nil, err
	}
	return db, seqs, nil
}

// prepare makes the tables in an empty file, and looks whether those of another
// can be gone on with.
func prepare(ctx context.Context, db *sql.DB, log string) error {
	var have int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return err
	}
	var tables int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return err
	}
	if have == 0 && tables == 0 {
		return makeTables(ctx, db, log)
	}
	if have != version {
		return fmt.Errorf("version %d: %w", have, sqlitefile.ErrOther)
	}
	var of string
	if err := db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'log'`).Scan(&of); err != nil {
		return err
	}
	if of != log {
		return fmt.Errorf("log %q: %w", of, sqlitefile.ErrOther)
	}
	_, err := db.ExecContext(ctx, `SELECT p.cut FROM words JOIN prompts p ON p.id = words.rowid LIMIT 1`)
	return err
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
	if _, err := tx.ExecContext(ctx, `INSERT INTO meta(key, value) VALUES('log', ?)`, log); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version)); err != nil {
		return err
	}
	return tx.Commit()
}

func readSeqs(ctx context.Context, db *sql.DB) (map[core.SessionID]uint64, error) {
	rows, err := db.QueryContext(ctx, `SELECT session, seq FROM sessions`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seqs := map[core.SessionID]uint64{}
	for rows.Next() {
		var id string
		var seq uint64
		if err := rows.Scan(&id, &seq); err != nil {
			return nil, err
		}
		seqs[core.SessionID(id)] = seq
	}
	return seqs, rows.Err()
}

// A step is what a session's change does to the file.
type step struct {
	session core.SessionID
	seq     uint64 // up to which record the session is in the file then
	whole   bool   // what is there of the session goes first
	scrub   bool   // what goes may not be left anywhere
	dialect string
	host    string
	cwd     string
	prompts []prompt
}

// write takes steps in, all of them or none.
func write(ctx context.Context, db *sql.DB, steps []step) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	scrub := false
	for _, s := range steps {
		if err := begin(ctx, tx, s); err != nil {
			return err
		}
		scrub = scrub || s.scrub
	}
	if err := insert(ctx, tx, steps); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil || !scrub {
		return err
	}
	// The write-ahead log still has the pages as they were.
	_, err = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

// begin does what a step asks for besides its prompts.
func begin(ctx context.Context, tx *sql.Tx, s step) error {
	if s.whole {
		if _, err := tx.ExecContext(ctx, `DELETE FROM prompts WHERE session = ?`, string(s.session)); err != nil {
			return err
		}
	}
	const seq = `INSERT INTO sessions(session, seq) VALUES(?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq`
	_, err := tx.ExecContext(ctx, seq, string(s.session), int64(s.seq))
	return err
}

// rowsAtOnce is how many prompts one statement inserts: behind each, the index of
// words goes to the file.
const rowsAtOnce = 100

func insert(ctx context.Context, tx *sql.Tx, steps []step) error {
	var rows []any
	for _, s := range steps {
		for _, p := range s.prompts {
			rows = append(rows, string(s.session), p.place, p.part, bound(p.entry),
				s.dialect, s.host, s.cwd, p.created, p.text, p.cut)
		}
	}
	for part := range slices.Chunk(rows, rowsAtOnce*columns) {
		const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?), "
		values := strings.Repeat(row, len(part)/columns)
		_, err := tx.ExecContext(ctx, `INSERT INTO prompts
			(session, place, part, entry, dialect, host, cwd, created_at, prompt, cut)
			VALUES `+strings.TrimSuffix(values, ", ")+` ON CONFLICT DO NOTHING`, part...)
		if err != nil {
			return err
		}
	}
	return nil
}

// columns is how many a prompt has that are written.
const columns = 10
