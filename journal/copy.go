package journal

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

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

func (b *book) copyPath() string { return filepath.Join(b.j.dir, string(b.id)+".copy") }

// saveCopy keeps a session as it was loaded, where it is not larger than what
// may wait. It is a convenience: that it cannot be kept is logged.
func (b *book) saveCopy(loaded session.Loaded, l *Log) {
	n := note{
		Op: opCopy, Dialect: loaded.Dialect, At: loaded.Cursor, Heads: loaded.Heads,
		lines: append([][]byte{loaded.Header}, loaded.Lines...),
	}
	payload, err := n.encode()
	if err == nil && int64(len(payload)) <= b.j.max {
		err = replace(b.copyPath(), appendFrame([]byte(magic), payload), false)
	}
	if err != nil {
		l.c.Logger.Warn("the session cannot be kept for times without the log", "session", b.id, "err", err)
	}
}
