package index

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// errUnusable means that a file is intact, but of another version or log.
var errUnusable = errors.New("it is of another version or log")

// touch creates an empty file if there is none. Only the owner may read it; SQLite
// gives its side files the same mode.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn returns path as a URI for the driver "sqlite". A power cut may lose the last
// transactions, which are replayed from the log, but does not corrupt the file.
// Deleted content is overwritten. pragmas are added to the common ones.
func dsn(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	q := url.Values{"_pragma": append([]string{
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(1)", "temp_store(MEMORY)",
	}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// removeFile removes a database and its side files.
func removeFile(path string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// isUnusable reports whether opening a file failed with err because the file is
// corrupt, lacks a table, or is of another version or log.
func isUnusable(err error) bool {
	return errors.Is(err, errUnusable) || isCorrupt(err) || codeOf(err) == sqlite3.SQLITE_ERROR
}

// isCorrupt reports whether SQLite found the file corrupt.
func isCorrupt(err error) bool {
	code := codeOf(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// codeOf returns the primary result code of an error of SQLite, 0 for other errors.
// isContradiction reports whether a write failed because the file has rows that
// belong to no session, or to another one.
func isContradiction(err error) bool { return codeOf(err) == sqlite3.SQLITE_CONSTRAINT }

func codeOf(err error) int {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return e.Code() & 0xFF // the upper bits are the extended code
}
