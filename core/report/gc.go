package report

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// A GC says what a run found and did or, without Apply, would do.
type GC struct {
	Run     string    `json:"run"`
	Log     string    `json:"log"`
	Applied bool      `json:"applied"`
	Grace   string    `json:"grace"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`

	Sessions int `json:"sessions"` // that were read
	Erased   int `json:"erased"`   // that reference nothing any more

	Stored       Amount `json:"stored"`       // all blobs outside of the trash
	Referenced   Amount `json:"referenced"`   // of them, referenced by a session
	Unreferenced Amount `json:"unreferenced"` // of them, unreferenced
	Young        Amount `json:"young"`        // of the unreferenced, younger than the grace
	Trash        Amount `json:"trash"`        // copies in the trash when the run looked

	Moved   Amount `json:"moved"`   // to the trash
	PutBack Amount `json:"putBack"` // from the trash, because a session references them
	Deleted Amount `json:"deleted"` // copies deleted permanently

	// References counts each blob once per session that references it. Saved is how
	// many more bytes they would take if each reference had a separate blob.
	References int64 `json:"references"`
	Saved      int64 `json:"saved"`

	// Missing are blobs that sessions need and that do not exist, at most
	// 100 of them. A Verification says whose they are.
	Missing []core.Digest `json:"missing"`
}

// An Amount is a number of blobs, and their bytes.
type Amount struct {
	Blobs int64 `json:"blobs"`
	Bytes int64 `json:"bytes"`
}

// Add counts one blob of size bytes.
func (a *Amount) Add(size int64) {
	a.Blobs++
	a.Bytes += size
}
