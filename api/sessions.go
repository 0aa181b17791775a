package api

import (
	"crypto/sha256"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/session/catalog"
)

// A RowChange is a changed row of the directory, as GET /v1/sessions/changes
// sends it.
type RowChange struct {
	ID core.SessionID `json:"id"`
	// Row is the current row; nil if it no longer matches the filter, or if the
	// session is gone.
	Row  *catalog.Row `json:"row,omitempty"`
	Mark catalog.Mark `json:"mark"` // to continue from
}

// ReadOptions says what an answer about a session must contain.
type ReadOptions struct {
	// Seen is an acknowledged cursor: the answer has its record, or it is
	// core.ErrUnavailable; core.ErrLost if the log has no such record.
	Seen core.Cursor
	// Strict requires a quorum of the log's servers to confirm that the answer has
	// every write that was acknowledged before the request. Without it, a server that
	// was just partitioned may give an older answer.
	Strict bool
	// At is a moment in the past, for reads that have one: the number of a record,
	// a cursor, or entry:ID for the record that added the entry. Empty for now.
	At string
}

// Digested is a digest of a session's beginning: its header and first entries as
// the log keeps them, images as blobs, each with a newline.
type Digested struct {
	Session  core.SessionID `json:"session"`
	Entries  int            `json:"entries"` // that the digest is of: as many as were asked for, or all there are
	SHA256   core.Digest    `json:"sha256"`
	Cursor   core.Cursor    `json:"cursor"`
	Original core.Digest    `json:"original,omitzero"` // the file that was imported, where it is kept
	Deleted  bool           `json:"deleted,omitempty"` // in the trash, or erased
}

// DigestOf returns the digest of a header's line and of entry lines, as GET
// /v1/sessions/{id}/digest computes it. The lines are as the log keeps them, see
// image.Externalize.
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

// State is the first line of an answer of GET /v1/sessions/{id}/state. The
// header's line and the entries' lines follow.
type State struct {
	Session core.SessionID       `json:"session"`
	Dialect string               `json:"dialect"`
	Cursor  core.Cursor          `json:"cursor"`
	Heads   map[string]core.Leaf `json:"heads"`
	Covered uint64               `json:"covered"` // seq that the latest snapshot covers, 0 for none
	// Claims are the claims of heads.
	Claims map[string]core.Claim `json:"claims,omitempty"`
	// Deleted is set while the session is in the trash.
	Deleted *core.Notice `json:"deleted,omitempty"`
}

// List is an answer of GET /v1/sessions, newest first.
type List struct {
	Sessions []catalog.Row `json:"sessions"`
	Next     string        `json:"next,omitempty"` // pass as ?after= for the next page
	// Mark is where GET /v1/sessions/changes continues after this page. Of several
	// pages, use that of the first.
	Mark catalog.Mark `json:"mark,omitempty"`
}

// Info summarizes a session: what its agent shows, and what the log knows
// besides.
type Info struct {
	display.Info
	Log LogInfo `json:"log"`
}

// LogInfo is what the log knows about a session besides its lines.
type LogInfo struct {
	Session    core.SessionID        `json:"session"`
	Dialect    string                `json:"dialect"`
	Cursor     core.Cursor           `json:"cursor"`
	Heads      map[string]*core.Head `json:"heads"`
	Epoch      uint64                `json:"epoch"`
	Origin     core.Origin           `json:"origin"`
	Checkpoint uint64                `json:"checkpoint"` // seq that the latest snapshot covers, 0 for none
	Closed     *core.Notice          `json:"closed,omitempty"`
	Deleted    *core.Notice          `json:"deleted,omitempty"`
	Erased     *core.Notice          `json:"erased,omitempty"`
	Held       *core.Notice          `json:"held,omitempty"`
	Usage      item.Usage            `json:"usage"`
}

// Create creates an empty session.
type Create struct {
	ID      string `json:"id,omitempty"` // default a new one
	Dialect string `json:"dialect,omitempty"`
	CWD     string `json:"cwd,omitempty"`
	Parent  string `json:"parent,omitempty"` // what the header names; default the first of Parents
	By      string `json:"by,omitempty"`
	// Parents are the sessions in the log that the new one comes from.
	Parents []ParentRef `json:"parents,omitempty"`
	// Kind is of a session without parents, in the words of its agent: user, system or
	// empty in OpenRath. Other agents have no such kinds.
	Kind string `json:"kind,omitempty"`
	Key  string `json:"-"` // Idempotency-Key: the same request again is the same session
}

// Created names the session that was created or already existed.
type Created struct {
	ID     core.SessionID `json:"id"`
	Cursor core.Cursor    `json:"seq"`
}
