package eventdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/sesslog/sesslog/core"
)

// Limits of what is read.
const (
	MaxEvent    = 256 << 20 // bytes of an event
	maxBatch    = 8 << 20   // bytes of events that one call of Events returns, unless one event is larger
	maxSessions = 1 << 20
	maxID       = 128
	maxPath     = 1 << 15
	queryTime   = 30 * time.Second
)

// A DB is a database of opencode. It is opened when it is first read. Its methods
// are safe for concurrent use.
type DB struct {
	path string

	mu   sync.Mutex
	db   *sql.DB     // nil: not open
	file fs.FileInfo // that db has open
}

// At returns the database at path, which need not exist yet.
func At(path string) *DB { return &DB{path: path} }

// Path returns the path of the database.
func (d *DB) Path() string { return d.path }

// Close closes the files of the database. It may be read again.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.close()
}

// close is Close while d.mu is held.
func (d *DB) close() error {
	if d.db == nil {
		return nil
	}
	err := d.db.Close()
	d.db = nil
	return err
}

// open returns the open database. The error wraps fs.ErrNotExist if there is none,
// and core.ErrInvalid if it is not one of opencode.
func (d *DB) open(ctx context.Context) (*sql.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Stat(d.path)
	if err == nil && d.db != nil && os.SameFile(info, d.file) {
		return d.db, nil
	}
	_ = d.close() // of a file that was removed or replaced
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: %w", d.path, core.ErrInvalid)
	}
	if info.Size() == 0 {
		return nil, fmt.Errorf("%s is empty: %w", d.path, fs.ErrNotExist) // opencode is about to fill it
	}
	db, err := sql.Open("sqlite", source(d.path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(1)
	if err := check(ctx, db); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("%s: %w", d.path, err)
	}
	d.db, d.file = db, info
	return db, nil
}

// source returns the database at path as a URI for the driver.
func source(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	q := url.Values{
		"mode":    {"ro"},
		"_pragma": {"busy_timeout(5000)", "query_only(1)", "trusted_schema(0)", "cell_size_check(1)", "cache_size(-4096)"},
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// check returns an error unless the database has the tables of events. Views and
// virtual tables, which could compute without end, are rejected.
func check(ctx context.Context, db *sql.DB) error {
	var n int
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name IN ('event', 'event_sequence')`).Scan(&n)
	switch {
	case err != nil:
		return fmt.Errorf("it cannot be read: %w", err)
	case n == 0:
		return fmt.Errorf("it has no events yet: %w", fs.ErrNotExist)
	case n != 2:
		return fmt.Errorf("it is not a database of opencode: %w", core.ErrInvalid)
	}
	return nil
}

// Sessions returns the ids of all sessions that have events, and the number of the
// last event of each. The error wraps fs.ErrNotExist if there is no database.
func (d *DB) Sessions(ctx context.Context) (map[string]int64, error) {
	last := map[string]int64{}
	err := d.query(ctx, func(rows *sql.Rows) error {
		var id string
		var seq int64
		if err := rows.Scan(&id, &seq); err != nil {
			return err
		}
		last[id] = seq
		return nil
	}, `SELECT aggregate_id, seq FROM event_sequence
		WHERE typeof(aggregate_id) = 'text' AND length(aggregate_id) BETWEEN 5 AND ? AND substr(aggregate_id, 1, 4) = 'ses_'
		AND typeof(seq) = 'integer' AND seq >= 0 LIMIT ?`, maxID, maxSessions)
	for id := range last {
		if !isID(id) {
			delete(last, id)
		}
	}
	return last, err
}

// Directories returns the directory of each session that opencode lists, also of those
// without events.
func (d *DB) Directories(ctx context.Context) (map[string]string, error) {
	dirs := map[string]string{}
	isTable := false
	err := d.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&isTable) },
		`SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = 'session'`)
	if err != nil || !isTable {
		return dirs, err
	}
	err = d.query(ctx, func(rows *sql.Rows) error {
		var id, dir string
		if err := rows.Scan(&id, &dir); err != nil {
			return err
		}
		if isID(id) {
			dirs[id] = dir
		}
		return nil
	}, `SELECT id, directory FROM session
		WHERE typeof(id) = 'text' AND length(id) BETWEEN 5 AND ? AND substr(id, 1, 4) = 'ses_'
		AND typeof(directory) = 'text' AND length(directory) <= ? LIMIT ?`, maxID, maxPath, maxSessions)
	return dirs, err
}

// isID reports whether id can be a part of a path.
func isID(id string) bool {
	return !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// An Event is an event of a session.
type Event struct {
	ID   string
	Seq  int64
	JSON json.RawMessage // one line, as opencode's interface returns it
}

// Limit bounds how many events one call of Events returns.
const Limit = 100_000

// Events returns events of a session from a number on, in order: at most limit, or
// fewer if they are large. It returns none after the last. The error wraps
// core.ErrInvalid if one of them is not JSON, and core.ErrTooLarge if it exceeds
// MaxEvent.
func (d *DB) Events(ctx context.Context, session string, from int64, limit int) (events []Event, err error) {
	size := 0
	err = d.query(ctx, func(rows *sql.Rows) error {
		var id, kind, data sql.NullString
		var seq, length int64
		if err := rows.Scan(&id, &seq, &kind, &length, &data); err != nil {
			return err
		}
		if length > MaxEvent {
			return fmt.Errorf("event %d of session %s has %d bytes, %d are read: %w", seq, session, length, int64(MaxEvent), core.ErrTooLarge)
		}
		e, err := newEvent(session, id.String, seq, kind.String, data.String)
		if err != nil {
			return fmt.Errorf("event %d of session %s is not JSON: %w", seq, session, core.ErrInvalid)
		}
		events = append(events, e)
		if size += len(e.JSON); size >= maxBatch {
			return errEnough
		}
		return nil
	}, `SELECT id, seq, type, length(data), CASE WHEN length(data) <= ? THEN data END FROM event
		WHERE aggregate_id = ? AND seq >= ? AND typeof(seq) = 'integer' AND length(id) <= ? AND length(type) <= ? ORDER BY seq LIMIT ?`,
		MaxEvent, session, from, maxID, maxID, min(limit, Limit))
	return events, err
}

// errEnough ends a query.
var errEnough = errors.New("enough")

// query calls each with every row of a query.
func (d *DB) query(ctx context.Context, each func(*sql.Rows) error, text string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", d.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s cannot be read: %w", d.path, err)
	}
	return nil
}
