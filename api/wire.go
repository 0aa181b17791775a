package api

import (
	"encoding/json"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/verify"
)

// Headers of requests and answers beyond HTTP's own.
const (
	// HeaderWriter names the claim that a write speaks from.
	HeaderWriter = "Sess-Writer"
	// HeaderHead names the head that a request is about; default "main".
	HeaderHead = "Sess-Head"
	// HeaderCursor is where the session stood when it was answered.
	HeaderCursor = "Sess-Cursor"
	// HeaderDialect says whose file it is.
	HeaderDialect = "Sess-Dialect"
	// HeaderDir and HeaderFile say where the agent looks for the file, below
	// its own root of sessions.
	HeaderDir  = "Sess-Dir"
	HeaderFile = "Sess-File"
	// HeaderSnapshot is the object key of a snapshot.
	HeaderSnapshot = "Sess-Snapshot"
	// HeaderIdempotency makes the ids of lines that have none.
	HeaderIdempotency = "Idempotency-Key"
)

// Row is one session in a listing.
type Row = materializer.Row

// List is an answer of GET /v1/sessions, newest first.
type List struct {
	Sessions []Row  `json:"sessions"`
	Next     string `json:"next,omitempty"` // pass as ?after= for the next page
	// Mark is for GET /v1/sessions/changes: what comes after it is not in this
	// page. Of several pages, that of the first counts.
	Mark Mark `json:"mark,omitempty"`
}

// Info is a session at a glance: what its agent would say, and what the log
// knows beyond that.
type Info struct {
	core.Info
	Log LogInfo `json:"log"`
}

// LogInfo is what the log knows of a session beyond its lines.
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
	Usage      core.Usage            `json:"usage"`
}

// Create asks for a new, empty session.
type Create struct {
	ID      string `json:"id,omitempty"` // default a new one
	Dialect string `json:"dialect,omitempty"`
	CWD     string `json:"cwd,omitempty"`
	Parent  string `json:"parent,omitempty"` // what the header names; default the first of Parents
	By      string `json:"by,omitempty"`
	// Parents are the sessions in the log that the new one comes from.
	Parents []ParentRef `json:"parents,omitempty"`
	Key     string      `json:"-"` // Idempotency-Key: the same request again is the same session
}

// Created names the session that was made, or was there.
type Created struct {
	ID     core.SessionID `json:"id"`
	Cursor core.Cursor    `json:"seq"`
}

// Imported says what became of a file.
type Imported struct {
	ID      string         `json:"id"`      // the file's own session id
	Session core.SessionID `json:"session"` // its name in the log; the same, where that id is fit for it
	Created bool           `json:"created"`
	Head    string         `json:"head,omitempty"` // that the file's lines are on, where it is not main
	Entries int            `json:"entries"`        // lines that were not there before
	Blobs   int            `json:"blobs"`
	Skipped []core.BadLine `json:"skipped"`
	Version string         `json:"version"`           // the format version of the file
	Kept    core.Digest    `json:"original,omitzero"` // the file as it was, where it is kept
	Cursor  core.Cursor    `json:"seq"`
}

// Appended says where appended lines are.
type Appended = core.Receipt

// LabelRequest sets an entry's label; an empty one clears it.
type LabelRequest struct {
	Target string `json:"target"`
	Label  string `json:"label"`
}

// NameRequest names the session; an empty name clears it.
type NameRequest struct {
	Name string `json:"name"`
}

// MoveRequest makes a head stand at an entry, or before all of them.
type MoveRequest struct {
	Leaf core.Leaf `json:"leaf"`
	// Note says who moves it and why. With a note there is a record also where
	// the head stands there already.
	Note *Notice `json:"note,omitempty"`
	// After is a cursor, sent as If-Match: the head must not have moved since.
	After string `json:"-"`
}

// ClaimRequest asks for a head.
type ClaimRequest = core.ClaimRequest

// Claimed is a claim that was granted, and the one that it ended.
type Claimed struct {
	core.Claim
	Head   string      `json:"head"`
	Former *core.Claim `json:"former,omitempty"`
}

// ForkRequest asks for a new session that begins as a path of this one.
type ForkRequest struct {
	At    string `json:"at,omitempty"`    // default where main stands; "null" for before all entries
	Whole bool   `json:"whole,omitempty"` // all entries rather than a path
	// Branched has the labels of the path come along, wherever they were given.
	Branched bool   `json:"branched,omitempty"`
	ID       string `json:"id,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	By       string `json:"by,omitempty"`
	Key      string `json:"-"` // as in Create
	// Kind is how the new session tells of this one: "fork", the default but for
	// a branched one, "branch", or "detach", which does not name it.
	Kind string `json:"kind,omitempty"`
}

// Notice says who does something that others will want to know of, and why.
type Notice struct {
	By   string `json:"by,omitempty"`
	Host string `json:"host,omitempty"`
	Why  string `json:"why,omitempty"`
}

// Snapshot names a snapshot.
type Snapshot struct {
	Object  string      `json:"object"`
	Seq     uint64      `json:"covers"`
	Chain   core.Chain  `json:"chain"`
	Size    int64       `json:"size"`
	SHA256  core.Digest `json:"sha256"`
	Entries int         `json:"entries"`
}

// Event is one record as a follower sees it.
type Event struct {
	Session core.SessionID    `json:"session,omitempty"` // where several are followed
	Seq     uint64            `json:"seq"`
	Cursor  core.Cursor       `json:"cursor"`
	Kind    core.Kind         `json:"kind"`
	Head    string            `json:"head"`
	Writer  string            `json:"writer"`
	Epoch   uint64            `json:"epoch"`
	Time    time.Time         `json:"time"`
	Entries []json.RawMessage `json:"entries,omitempty"` // lines of open, append and amend, images put back
	Body    json.RawMessage   `json:"body,omitempty"`    // of every other kind
}

// Report is what verify found in a session.
type Report struct {
	verify.Report
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Mended   []Problem `json:"mended,omitempty"` // by a repair
}

// A Problem is one thing that is not as promised.
type Problem = verify.Problem

// LogReport is what verify found in the log as a whole.
type LogReport struct {
	Log      string           `json:"log"`
	Sessions []core.SessionID `json:"sessions"` // all that it has records of
	Problems []Problem        `json:"problems"`
}

// Status is a node at a glance.
type Status struct {
	Node     string        `json:"node"`
	Version  string        `json:"version"`
	Log      string        `json:"log"`
	Healthy  bool          `json:"healthy"`
	Summary  string        `json:"summary"` // one line: all is well, or what is not
	Uptime   float64       `json:"uptimeSeconds"`
	Sessions int           `json:"sessions"`
	Shards   []ShardStatus `json:"shards"`
	Cache    CacheStatus   `json:"cache"`
	Blobs    string        `json:"blobs"` // where they are kept
	// BlobCache is how blobs and snapshots read lately are kept here.
	BlobCache BlobCaches `json:"blobCache"`
	// BlobPuts is what was stored of blobs since the node began.
	BlobPuts BlobPuts `json:"blobPuts"`
	// Losses is what the log was found to have lost since the node began.
	Losses Losses `json:"losses"`
	// Bounds are what this node can have in hand at once, by what it is.
	Bounds map[string]Bound `json:"bounds"`
}

// A Bound is how much of something a node has in hand, how much it can have, and
// how often it refused more since it started.
type Bound struct {
	Used    int64 `json:"used"`
	Limit   int64 `json:"limit"`
	Refused int64 `json:"refused"`
}

// Losses counts what the log had lost and a node put back.
type Losses = engine.Losses

// ShardStatus is one stream of the log.
type ShardStatus struct {
	Stream   string  `json:"stream"`
	Leader   string  `json:"leader,omitempty"`
	Replicas int     `json:"replicas"`
	Messages uint64  `json:"messages"`
	Bytes    uint64  `json:"bytes"`
	Limit    int64   `json:"limit"` // of bytes; 0 for none but the server's
	Full     float64 `json:"full"`  // of its room, from 0 to 1; entries are refused from 0.9 on
	Sessions uint64  `json:"sessions"`
	Lag      uint64  `json:"lag"` // records this node's materializer has yet to see
	// Work is what this node knows of the shard's garbage.
	Work materializer.ShardWork `json:"work"`
}

// CacheStatus is a node's cache of sessions.
type CacheStatus struct {
	Sessions int   `json:"sessions"`
	Bytes    int64 `json:"bytes"`
	Limit    int64 `json:"limit"`
}

// BlobInfo is one blob in a listing.
type BlobInfo struct {
	Digest   core.Digest `json:"digest"`
	Size     int64       `json:"size"`
	Modified time.Time   `json:"modified"`
}

// BlobList is an answer of GET /v1/blobs.
type BlobList struct {
	Blobs []BlobInfo `json:"blobs"`
	Next  string     `json:"next,omitempty"`
}
