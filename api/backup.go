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
	At     core.Pos `json:"at"` // each session ends there or later
	// Strict says that a quorum confirmed the ends. Otherwise the shard had no room
	// for the proof, and only its leader confirmed them.
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
	// follows; zero if the first is the session's open or erase record.
	AfterSeq uint64     `json:"afterSeq,omitempty"`
	After    core.Chain `json:"after,omitzero"`
	// Covered is the seq up to which the session's snapshot reaches; 0 if the session
	// is read from its open record.
	Covered uint64     `json:"covered,omitempty"`
	Seq     uint64     `json:"seq"` // of the session's last record
	Chain   core.Chain `json:"chain"`
}

// RestoreHead is the first line of a restore, before the records.
type RestoreHead struct {
	Log string `json:"log"` // that the records are of
	// Seq and Chain are of the record before the first that follows; zero if the
	// first is the session's open or erase record.
	Seq   uint64     `json:"seq"`
	Chain core.Chain `json:"chain"`
	// Without are blobs that the backup does not have.
	Without []core.Digest `json:"without,omitempty"`
}

// RestorePlan describes a restore, to find out what it would do.
type RestorePlan struct {
	Log   string        `json:"log"`
	Seq   uint64        `json:"seq"`
	Chain core.Chain    `json:"chain"`
	Steps []report.Step `json:"steps"` // the records of the restore
	// Snapshot is the manifest of the snapshot that the records follow, nil if they
	// begin with the session's open record.
	Snapshot *core.Manifest `json:"snapshot,omitempty"`
}

// Planned says what a restore would find.
type Planned struct {
	report.Comparison
	// WantsSnapshot says that the node lacks the snapshot of the plan or has it
	// damaged.
	WantsSnapshot bool `json:"wantsSnapshot,omitempty"`
}

// Restored is the result of a restore.
type Restored struct {
	report.Comparison     // as it was before
	Stored            int `json:"stored"` // records
}

// BlobWant names a blob that the caller has.
type BlobWant struct {
	Digest core.Digest `json:"digest"`
	Size   int64       `json:"size"`
}

// BlobWants are blobs that the caller has; in the answer, those that the node
// wants.
type BlobWants struct {
	Blobs []BlobWant `json:"blobs"`
}

// MaxWants is how many blobs one request may ask about.
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
