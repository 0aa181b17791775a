// Package eventdbtest writes databases as opencode does, for tests.
package eventdbtest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

// A DB is a database of opencode with the tables of events only.
type DB struct {
	Path string
	db   *sql.DB
}

// New makes a database at path.
func New(tb testing.TB, path string) *DB {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)")
	if err != nil {
		tb.Fatal(err)
	}
	d := &DB{Path: path, db: db}
	tb.Cleanup(d.Close)
	d.Exec(tb, `CREATE TABLE event_sequence (aggregate_id text PRIMARY KEY, seq integer NOT NULL, owner_id text)`)
	d.Exec(tb, `CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL REFERENCES event_sequence(aggregate_id) ON DELETE CASCADE,
		seq integer NOT NULL, type text NOT NULL, data text NOT NULL)`)
	d.Exec(tb, `CREATE UNIQUE INDEX event_aggregate_seq_idx ON event (aggregate_id, seq)`)
	return d
}

// Close closes the database.
func (d *DB) Close() { _ = d.db.Close() }

// Exec runs a statement.
func (d *DB) Exec(tb testing.TB, text string, args ...any) {
	tb.Helper()
	if _, err := d.db.Exec(text, args...); err != nil {
		tb.Fatal(err)
	}
}

// Create adds a session that works in dir.
func (d *DB) Create(tb testing.TB, session, dir string) {
	tb.Helper()
	d.Add(tb, session, "session.created.1", fmt.Sprintf(`{"sessionID":%q,"info":{"id":%q,"directory":%q,"path":"p","title":"t","version":"1.18.33","time":{"created":1,"updated":1}}}`, session, session, dir))
}

// Say adds a message of the user with a text.
func (d *DB) Say(tb testing.TB, session, text string) {
	tb.Helper()
	n := d.Count(tb, session)
	d.Add(tb, session, "message.updated.1", fmt.Sprintf(`{"sessionID":%q,"info":{"id":"msg_%04d","sessionID":%q,"role":"user","time":{"created":%d}}}`, session, n, session, n))
	d.Add(tb, session, "message.part.updated.1", fmt.Sprintf(`{"sessionID":%q,"part":{"id":"prt_%04d","sessionID":%q,"messageID":"msg_%04d","type":"text","text":%q},"time":%d}`, session, n, session, n, text, n))
}

// Add adds an event to a session.
func (d *DB) Add(tb testing.TB, session, kind, data string) {
	tb.Helper()
	n := d.Count(tb, session)
	d.Exec(tb, `INSERT INTO event_sequence VALUES (?, ?, NULL) ON CONFLICT DO UPDATE SET seq = excluded.seq`, session, n)
	d.Exec(tb, `INSERT INTO event VALUES (?, ?, ?, ?, ?)`, fmt.Sprintf("evt_%s_%04d", session, n), session, n, kind, data)
}

// Delete removes a session.
func (d *DB) Delete(tb testing.TB, session string) {
	tb.Helper()
	d.Exec(tb, `DELETE FROM event_sequence WHERE aggregate_id = ?`, session)
}

// Count returns how many events a session has.
func (d *DB) Count(tb testing.TB, session string) (n int) {
	tb.Helper()
	if err := d.db.QueryRow(`SELECT count(*) FROM event WHERE aggregate_id = ?`, session).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}
