package api

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// ShardEnds says where the sessions of a shard end, for a backup.
type ShardEnds struct {
	Log    string   `json:"log"`
	Shards int      `json:"shards"` // how many the log has
	Shard  int      `json:"shard"`
	At     core.Pos `json:"at"` // each session ends there or behind it
	// Strict says that a quorum stands for that. Without, the shard had no room for
	// the proof, and its leader alone says so.
	Strict   bool         `json:"strict"`
	Sessions []SessionEnd `json:"sessions"`
}

// SessionEnd is the last record of a session.
type SessionEnd struct {
	Session core.SessionID `json:"session"`
	Kind    core.Kind      `json:"kind"`
	Seq     uint64         `json:"seq"`
	Chain   core.Chain     `json:"chain"`
}

// RecordsHead is the first line of a session's records.
type RecordsHead struct {
	Log     string         `json:"log"`
	Session core.SessionID `json:"session"`
	// AfterSeq and After are the seq and chain of the record before the first that
	// follows: zero where that is the session's open, or its erase.
	AfterSeq uint64     `json:"afterSeq,omitempty"`
	After    core.Chain `json:"after,omitzero"`
	// Covered is up to where the snapshot reaches that the session is read from
	// now; 0 where it is read from its open.
	Covered uint64     `json:"covered,omitempty"`
	Seq     uint64     `json:"seq"` // of the session's last record
	Chain   core.Chain `json:"chain"`
}

// RestoreHead is the first line of a restore, in front of the records.
type RestoreHead struct {
	Log string `json:"log"` // that the records are of
	// Seq and Chain are of the record before the first that follows; zero where
	// that is the session's open, or its erase.
	Seq   uint64     `json:"seq"`
	Chain core.Chain `json:"chain"`
	// Without are blobs that the backup does not have either.
	Without []core.Digest `json:"without,omitempty"`
}

// RestorePlan is what is asked about a restore before it.
type RestorePlan struct {
	Log   string        `json:"log"`
	Seq   uint64        `json:"seq"`
	Chain core.Chain    `json:"chain"`
	Steps []report.Step `json:"steps"` // the records of the restore
	// Snapshot is the manifest of the one that the records rest on, nil where they
	// begin with the session's open.
	Snapshot *core.Manifest `json:"snapshot,omitempty"`
}

// Planned says what a restore would find.
type Planned struct {
	Comparison
	// WantsSnapshot says that the node has not the snapshot of the plan, or not
	// sound.
	WantsSnapshot bool `json:"wantsSnapshot,omitempty"`
}

// RestoreStep is one record of a RestorePlan.
type RestoreStep = report.Step

// Relation says how a session in the log stands to its backup.
type Relation = report.Relation

// Comparison is how a session in the log stands to its backup.
type Comparison = report.Comparison

// Restored says what a restore came to.
type Restored struct {
	Comparison     // as it was before
	Stored     int `json:"stored"` // records
}

// BlobWant names a blob that somebody has.
type BlobWant struct {
	Digest core.Digest `json:"digest"`
	Size   int64       `json:"size"`
}

// BlobWants are blobs that somebody has; the answer, those that are wanted.
type BlobWants struct {
	Blobs []BlobWant `json:"blobs"`
}

// How a session in the log can stand to its backup.
const (
	Absent   = report.Absent
	Same     = report.Same
	Behind   = report.Behind
	Ahead    = report.Ahead
	Diverged = report.Diverged
	TooShort = report.TooShort
	Erased   = report.Erased
)

// MaxWants is the maximum number of blobs in one question.
const MaxWants = 1000

// Snapshot names a snapshot.
type Snapshot struct {
	Object  string      `json:"object"`
	Seq     uint64      `json:"covers"`
	Chain   core.Chain  `json:"chain"`
	Size    int64       `json:"size"`
	SHA256  core.Digest `json:"sha256"`
	Entries int         `json:"entries"`
}
