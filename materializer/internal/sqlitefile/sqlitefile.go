// Package sqlitefile is what the node's SQLite files have in common: how they
// are opened, what says that one is damaged, and how one is removed. What is in
// them is made from the log, so a file that is of no use is made again.
package sqlitefile

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrOther says that a file is whole, but not one that can be gone on with.
var ErrOther = errors.New("it is of another version or log")

// Touch makes an empty file where there is none: its owner's alone, and so is
// what SQLite puts beside it.
func Touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// DSN is path as a URI for the driver "sqlite". A power cut may lose the last
// writes, which are made again, but leaves the file whole. What is deleted is
// overwritten. more are further pragmas.
func DSN(path string, more ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	q := url.Values{"_pragma": append([]string{
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(1)", "temp_store(MEMORY)",
	}, more...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// Remove removes the file and what SQLite keeps beside it.
func Remove(path string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// IsUnusable reports whether err, met when a file was opened, says that the file
// is of no use: damaged, another's, or without a table.
func IsUnusable(err error) bool {
	return errors.Is(err, ErrOther) || IsCorrupt(err) || codeOf(err) == sqlite3.SQLITE_ERROR
}

// IsCorrupt reports whether SQLite found the file damaged.
func IsCorrupt(err error) bool {
	code := codeOf(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// codeOf returns SQLite's primary code, 0 where err is none of SQLite's.
func codeOf(err error) int {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return e.Code() & 0xFF // the rest says where it was found
}
