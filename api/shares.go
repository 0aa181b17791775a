package api

import (
	"net/url"
	"time"

	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
)

// ShareRequest creates a share link of a session.
type ShareRequest struct {
	// Until is the last entry that the link shows, with the path to it. Empty: the
	// path to main, and what is added to it.
	Until   string    `json:"until,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Notice
}

// ShareList is an answer of GET /v1/shares, oldest first. The prefix of each is the id
// of its session.
type ShareList struct {
	Shares []access.Token `json:"shares"`
}

// Shared is an answer of GET /v1/shared: what the caller's share link shows.
type Shared struct {
	ID      string         `json:"id"` // of the link
	Session core.SessionID `json:"session"`
	Dialect string         `json:"dialect"`
	CWD     string         `json:"cwd,omitempty"`
	Until   string         `json:"until,omitempty"`
	display.Summary
}

// ShareLink returns the address of a share link at a node. The secret is in the
// fragment, which browsers do not send.
func ShareLink(base string, made access.Issued) string {
	return base + "/shared/" + url.PathEscape(made.ID) + "#" + made.Bearer
}
