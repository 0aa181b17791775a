package follow

import (
	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/core"
)

// A place is how much of a file is in the log. It is written after the log has
// acknowledged, so it is never ahead of the log; if it lags, the file is compared
// with the log.
type place struct {
	Path    string         `json:"path"`
	Session core.SessionID `json:"session,omitempty"` // empty: nothing of it is in the log
	Dialect string         `json:"dialect,omitempty"` // of the session; empty: it was never in step
	Head    string         `json:"head,omitempty"`    // where the file's lines go
	// Cursor is that of the session when Head pointed to Leaf, which is where the
	// agent continues after it has read the file. The zero cursor: the two differ, so
	// lines are appended only after a comparison.
	Cursor core.Cursor `json:"cursor,omitzero"`
	Leaf   core.Leaf   `json:"leaf,omitzero"`

	// The file when it was last examined: its identity, size and modification time,
	// and when that was.
	Dev   uint64 `json:"dev,omitempty"`
	Ino   uint64 `json:"ino,omitempty"`
	Size  int64  `json:"size,omitempty"`
	MTime int64  `json:"mtime,omitempty"`
	Seen  int64  `json:"seen,omitempty"`

	// Offset is how many bytes at the start of the file are in the log, Sum their
	// hash, and Edge the hashes of the first and the last few of them.
	Offset int64     `json:"offset,omitempty"`
	Sum    uint64    `json:"sum,omitempty"`
	Edge   [2]uint64 `json:"edge,omitempty"`
	// Open: the last of those bytes is not a newline.
	Open bool `json:"open,omitempty"`
	// Unacked: a request was sent and not answered. It may still arrive.
	Unacked bool `json:"unheard,omitempty"`
	// Noting is the cursor of the session before a note about the file was sent that
	// was not answered; else zero.
	Noting core.Cursor `json:"noting,omitzero"`
	// Quick: the file grew, and its earlier bytes were not all read since.
	Quick bool `json:"quick,omitempty"`
	// Removing is the cursor of the session before the note was sent that the file
	// was removed; zero if no such note is due.
	Removing core.Cursor `json:"telling,omitzero"`
	// Left: the file does not exist. Its place is kept for a while, because the file
	// may come back, also under another name.
	Left bool `json:"left,omitempty"`
	// Gone: forget the path. It occurs only in the state file.
	Gone bool `json:"gone,omitempty"`
}

// matches reports whether s is of the same file, unchanged.
func (p *place) matches(s stat) bool {
	return p.Session != "" && p.Dev == s.dev && p.Ino == s.ino && p.Size == s.size && p.MTime == s.mtime && p.MTime < p.Seen-int64(clockTick)
}

func (p *place) record(s stat) {
	p.Dev, p.Ino, p.Size, p.MTime, p.Seen = s.dev, s.ino, s.size, s.mtime, s.seen
}

// inStep reports whether lines can be appended without a comparison.
func (p *place) inStep() bool { return p.Session != "" && p.Cursor != (core.Cursor{}) }

// advance moves the place after data, which is in the log. e are the edges of the
// bytes before data.
func (p *place) advance(digest *xxhash.Digest, e edges, data []byte) {
	p.Offset += int64(len(data))
	_, _ = digest.Write(data)
	p.Sum = digest.Sum64()
	p.Edge = e.append(data).hashes()
	p.Open = data[len(data)-1] != '\n'
}

// renamedTo returns the place of the same file under another name. All of the file
// is read again, and compared with the log.
func (p *place) renamedTo(path string) place {
	return place{
		Path: path, Session: p.Session, Dialect: p.Dialect, Head: p.Head, Leaf: p.Leaf, Unacked: p.Unacked, Sum: xxhash.Sum64(nil),
	}
}
