package follow

import "github.com/sesslog/sesslog/core"

// A Kind is the kind of a Notice.
type Kind string

// The kinds of notices. All but Began and Back need a user's attention.
const (
	Began       Kind = "began"      // a file became a session, or was recognized for the first time
	Diverged    Kind = "parted"     // another writer continued the session: the file has a separate head now
	TakenOver   Kind = "taken-over" // another writer took the head over, and this file has no new lines
	LineRemoved Kind = "vanished"   // lines were removed from the file; the log keeps them
	Conflict    Kind = "clashed"    // a line that the log rejects, or has with other content
	BadLine     Kind = "bad-line"   // a line that is not an entry
	BadFile     Kind = "bad-file"   // a file that cannot be read, or not as a session
	NoImage     Kind = "no-image"   // an image that lines refer to is not in the agent's directory
	FileRemoved Kind = "gone"       // the file no longer exists; the session stays in the log
	Stopped     Kind = "stopped"    // the session accepts nothing: it is in the trash, was erased, or needs a newer node
	Secret      Kind = "secret"     // an entry has what looks like a secret
	Away        Kind = "away"       // no node accepts lines; they wait in their files
	Back        Kind = "back"       // after Away: a node accepts lines again
	Unwatched   Kind = "unwatched"  // changes in a directory are found by scanning only
)

// A Notice is something that users may want to know. It is sent once.
type Notice struct {
	Kind    Kind           `json:"kind"`
	Path    string         `json:"path,omitempty"`    // the file or directory; empty for Away and Back
	Session core.SessionID `json:"session,omitempty"` // empty if unknown
	Head    string         `json:"head,omitempty"`    // Began, Diverged: where the file's lines go
	// Text is one sentence that says what happened and, if the user can act, how.
	Text string `json:"text"`
	Err  error  `json:"-"` // the cause, if any
}
