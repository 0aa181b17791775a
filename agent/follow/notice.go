package follow

import "github.com/sesslog/sesslog/core"

// A Kind is what a Notice is about.
type Kind string

// What is told. All but Began and Back are for people to look at.
const (
	Began    Kind = "began"     // a file was brought in that this follower had not met
	Diverged Kind = "parted"    // somebody else went on with the session: the file has a head of its own now
	Vanished Kind = "vanished"  // lines left the file; the log keeps them
	Clashed  Kind = "clashed"   // a line that the log cannot take, or has otherwise
	BadLine  Kind = "bad-line"  // a line that is no entry
	BadFile  Kind = "bad-file"  // a file that cannot be read as a session, or not at all
	NoImage  Kind = "no-image"  // an image that lines refer to is not where the agent keeps images
	Gone     Kind = "gone"      // the file is no longer there; the session stays in the log
	Stopped  Kind = "stopped"   // the log takes nothing for the session: it is in the trash, was erased, or needs a newer node
	Away     Kind = "away"      // no node takes lines now; they wait in their files
	Back     Kind = "back"      // after Away: a node takes them again
	Unseen   Kind = "unwatched" // changes of some directory are seen by looking now and then only
)

// A Notice is something that people may want to know, told once.
type Notice struct {
	Kind    Kind           `json:"kind"`
	Path    string         `json:"path,omitempty"`    // the file or directory; empty for Away and Back
	Session core.SessionID `json:"session,omitempty"` // empty where it is not known
	Head    string         `json:"head,omitempty"`    // Began, Diverged: where the file's lines go
	// Text is one sentence for people: what happened and, where something is to
	// be done, what.
	Text string `json:"text"`
	Err  error  `json:"-"` // the cause, where there is one
}
