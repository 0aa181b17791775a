package gc

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// maxMissing limits Report.Missing.
const maxMissing = 100

// A Deletion is what is about to be deleted permanently, and who asked for it, when
// and why.
type Deletion struct {
	Run   string    `json:"run"` // of the Report; a run may have several
	Log   string    `json:"log"`
	Node  string    `json:"node"`
	Time  time.Time `json:"time"`
	By    string    `json:"by"`
	Host  string    `json:"host"`
	Why   string    `json:"why"`
	Grace string    `json:"grace"`
	Blobs []Deleted `json:"blobs"`
}

// A Deleted is a copy of a blob in the trash.
type Deleted struct {
	Digest  core.Digest `json:"digest"`
	Size    int64       `json:"size"`
	Trashed time.Time   `json:"trashed"` // when it was moved there
	// Spare means that the blob itself is in its place.
	Spare bool `json:"spare,omitempty"`
}
