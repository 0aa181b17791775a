package journal

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

const copySuffix = ".copy"

// loadCopy is the session as it was loaded last, and whether it is there whole.
func (b *book) loadCopy() (out session.Loaded, ok bool) {
	data, err := os.ReadFile(b.copyPath())
	if err != nil {
		return out, false
	}
	_, err = scan(data, func(payload []byte, _ int) error {
		n, err := decode(payload)
		if err != nil {
			return err
		}
		if n.Op != opCopy || len(n.lines) == 0 {
			return fmt.Errorf("it is no copy of a session: %w", core.ErrCorrupt)
		}
		out = session.Loaded{Dialect: n.Dialect, Header: n.lines[0], Lines: n.lines[1:], Heads: n.Heads, Cursor: n.At}
		ok = true
		return nil
	})
	return out, ok && err == nil
}

func (b *book) copyPath() string { return filepath.Join(b.j.dir, string(b.id)+copySuffix) }

// noCopy says that there is no copy to read instead of the log.
func (b *book) noCopy(err error) error {
	return fmt.Errorf("session %s cannot be read from the log, and journal %s has no copy of it (it keeps those loaded last, %d bytes of them): %w", b.id, b.j.dir, b.j.max, err)
}

// saveCopy keeps a session as it was loaded. It is a convenience: that it cannot
// be kept is logged.
func (b *book) saveCopy(loaded session.Loaded, l *Log) {
	n := note{
		Op: opCopy, Dialect: loaded.Dialect, At: loaded.Cursor, Heads: loaded.Heads,
		lines: append([][]byte{loaded.Header}, loaded.Lines...),
	}
	payload, err := n.encode()
	if err == nil {
		file := appendFrame([]byte(magic), payload)
		if err = b.j.copyRoom(b.id, int64(len(file))); err == nil {
			err = replace(b.copyPath(), file, false)
		}
	}
	if err != nil {
		l.c.Logger.Warn("the session cannot be kept for times without the log", "session", b.id, "err", err)
	}
}

// copyRoom makes room for n bytes of a copy of session id: all copies take no
// more than what may wait. Those loaded longest ago go, but not the copy of a
// session for which something waits, which was written upon it. core.ErrFull
// where that is not enough.
func (j *Journal) copyRoom(id core.SessionID, n int64) error {
	j.copying.Lock()
	defer j.copying.Unlock()
	files, err := os.ReadDir(j.dir)
	if err != nil {
		return err
	}
	var old []fs.FileInfo
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), copySuffix)
		if info, err := f.Info(); ok && name != string(id) && err == nil {
			old = append(old, info)
			n += info.Size()
		}
	}
	slices.SortFunc(old, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range old {
		if n <= j.max {
			return nil
		}
		if j.waits(core.SessionID(strings.TrimSuffix(info.Name(), copySuffix))) {
			continue
		}
		if err := os.Remove(filepath.Join(j.dir, info.Name())); err != nil {
			return err
		}
		n -= info.Size()
	}
	if n > j.max {
		return fmt.Errorf("with it the copies would take %d bytes, %d are allowed: %w", n, j.max, core.ErrFull)
	}
	return nil
}

// waits reports whether something waits for session id.
func (j *Journal) waits(id core.SessionID) bool {
	j.mu.Lock()
	b, ok := j.books[id]
	j.mu.Unlock()
	return ok && b.status().Entries > 0
}
