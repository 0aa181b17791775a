package api

import (
	"crypto/sha256"

	"github.com/sesslog/sesslog/core"
)

// Digested is a digest of a session's beginning: of its header's line and its
// first entry lines as the log keeps them, images as blobs, each with a newline.
type Digested struct {
	Session  core.SessionID `json:"session"`
	Entries  int            `json:"entries"` // that the digest is of: as many as were asked for, or all there are
	SHA256   core.Digest    `json:"sha256"`
	Cursor   core.Cursor    `json:"cursor"`
	Original core.Digest    `json:"original,omitzero"` // the file that was imported, where it is kept
	Deleted  bool           `json:"deleted,omitempty"` // in the trash, or erased
}

// DigestOf returns the digest of a header's line and of entry lines, as the
// answer of GET /v1/sessions/{id}/digest has it. The lines are as the log keeps
// them, see core.Externalize.
func DigestOf(h core.Header, es []core.Entry) core.Digest {
	sum := sha256.New()
	newline := []byte("\n")
	_, _ = sum.Write(h.Line)
	_, _ = sum.Write(newline)
	for i := range es {
		_, _ = sum.Write(es[i].Line)
		_, _ = sum.Write(newline)
	}
	return core.Digest(sum.Sum(nil))
}
