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

// version is that of the schema and of what is read from sessions. A file with
// another one is made again.
const version = 3

// What a session is found and ordered by is in sessions, which has nothing else, so
// that many rows are on a page; its row, as JSON, and what only writing looks at are
// in details. Each order has an index that begins with deleted, which every
// listing asks for. That of the usual order has what filters look at, and so, but
// for names and first messages, have those of directories and of marks: going along
// one of them reads no rows.
//
// words and looks refer to rows of docs and sessions and keep no text of their
// own: they are told what to delete. words.scope holds what session, directory,
// dialect and tags a text is of, as words, so that the engine narrows by them.
// looks holds three letters of names and first messages at a time, for what is in
// the middle of a word. (With detail=none its secure deletion loses rows.)
const schema = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE floors(shard INTEGER PRIMARY KEY, floor TEXT NOT NULL);
CREATE TABLE sessions(
	n INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	seq INTEGER NOT NULL, snapshot INTEGER NOT NULL, change INTEGER NOT NULL,
	deleted INTEGER NOT NULL, closed INTEGER NOT NULL, held INTEGER NOT NULL,
	created INTEGER NOT NULL, modified INTEGER NOT NULL,
	size INTEGER NOT NULL, entries INTEGER NOT NULL, cost REAL NOT NULL,
	agent_id TEXT NOT NULL, dialect TEXT NOT NULL, cwd TEXT NOT NULL,
	name TEXT NOT NULL, look TEXT NOT NULL
);
CREATE TABLE details(
	n INTEGER PRIMARY KEY,
	texts INTEGER NOT NULL, digest INTEGER NOT NULL, kept INTEGER NOT NULL,
	marks TEXT NOT NULL, claims TEXT NOT NULL, labels TEXT NOT NULL,
	row TEXT NOT NULL
);
CREATE INDEX by_modified ON sessions(deleted, modified DESC, id, cwd, dialect, closed, held, created, size, cost, entries, look);
CREATE INDEX by_created ON sessions(deleted, created DESC, id);
CREATE INDEX by_name ON sessions(deleted, name, id);
CREATE INDEX by_size ON sessions(deleted, size DESC, id);
CREATE INDEX by_cost ON sessions(deleted, cost DESC, id);
CREATE INDEX by_entries ON sessions(deleted, entries DESC, id);
CREATE INDEX by_cwd ON sessions(deleted, cwd, modified DESC, id, dialect, closed, held, created, size, cost, entries);
CREATE INDEX by_dialect ON sessions(deleted, dialect, modified DESC, id);
CREATE INDEX by_change ON sessions(change);
CREATE INDEX by_agent_id ON sessions(agent_id) WHERE agent_id <> '';
CREATE INDEX those_held ON sessions(n) WHERE held = 1;
CREATE INDEX those_behind ON sessions(id) WHERE snapshot + 1 < seq AND deleted < 2;
CREATE TABLE gone(change INTEGER PRIMARY KEY, id TEXT NOT NULL);
CREATE TABLE marks(
	mark TEXT NOT NULL,
	deleted INTEGER NOT NULL, modified INTEGER NOT NULL, id TEXT NOT NULL, n INTEGER NOT NULL,
	cwd TEXT NOT NULL, dialect TEXT NOT NULL, closed INTEGER NOT NULL, held INTEGER NOT NULL,
	created INTEGER NOT NULL, size INTEGER NOT NULL, cost REAL NOT NULL, entries INTEGER NOT NULL,
	PRIMARY KEY(mark, deleted, modified DESC, id)
) WITHOUT ROWID;
CREATE TABLE holders(n INTEGER NOT NULL, head TEXT NOT NULL, writer TEXT NOT NULL, since INTEGER NOT NULL, PRIMARY KEY(n, head)) WITHOUT ROWID;
CREATE TABLE links(child TEXT NOT NULL, parent TEXT NOT NULL, PRIMARY KEY(child, parent)) WITHOUT ROWID;
CREATE INDEX links_down ON links(parent, child);
CREATE TABLE docs(
	id INTEGER PRIMARY KEY,
	n INTEGER NOT NULL, place INTEGER NOT NULL,
	entry TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX docs_of ON docs(n, place);
CREATE VIRTUAL TABLE words USING fts5(text, scope, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2');
INSERT INTO words(words, rank) VALUES('secure-delete', 1);
INSERT INTO words(words, rank) VALUES('hashsize', 8388608);
CREATE VIRTUAL TABLE looks USING fts5(name, first, content='', columnsize=0, detail=column, tokenize='trigram case_sensitive 1');
INSERT INTO looks(looks, rank) VALUES('secure-delete', 1);
INSERT INTO looks(looks, rank) VALUES('hashsize', 8388608);
CREATE TABLE prompts(
	id INTEGER PRIMARY KEY,
	session TEXT NOT NULL, place INTEGER NOT NULL, part INTEGER NOT NULL, entry TEXT NOT NULL,
	dialect TEXT NOT NULL, host TEXT NOT NULL, cwd TEXT NOT NULL,
	created INTEGER NOT NULL, text TEXT NOT NULL, cut INTEGER NOT NULL,
	UNIQUE(session, place, part)
);
CREATE INDEX prompts_newest ON prompts(created, session, place, part);
CREATE INDEX prompts_by_cwd ON prompts(cwd, created, session, place, part);
CREATE VIRTUAL TABLE prompt_words USING fts5(text, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2');
INSERT INTO prompt_words(prompt_words, rank) VALUES('secure-delete', 1);
INSERT INTO prompt_words(prompt_words, rank) VALUES('hashsize', 8388608);
`

// A file is the open file: one connection that writes, some that read.
type file struct {
	w, r  *sql.DB
	epoch string // names this making of the file
	stmts map[string]*sql.Stmt

	change int64 // the number of the last change that was written
	live   int   // rows that are not in the trash
	floors map[int]materializer.Floor
}

// openFile opens the index of a log, making the file where it is absent.
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
	r.SetMaxOpenConns(4) // a file, not a server: more only wait for each other
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

// prepare makes the tables in an empty file, or looks whether those of another
// can be gone on with, and reads what is kept in memory.
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
		`SELECT rowid FROM looks WHERE looks MATCH 'aaa' LIMIT 1`,
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
		max((SELECT coalesce(max(change), 0) FROM sessions), (SELECT coalesce(max(change), 0) FROM gone))
		FROM meta WHERE key = 'epoch'`).Scan(&f.epoch, &f.live, &f.change)
	if err != nil {
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
