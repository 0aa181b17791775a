package session

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// OnConflict says what happens to appended lines if another writer was first.
type OnConflict string

// The ways to handle a conflict.
const (
	// Fail stores nothing and returns a *core.FencedError or a
	// *core.ConflictError. It is the default.
	Fail OnConflict = "fail"
	// Rebase appends the lines after those of the other writer. Lines
	// that name no parent, or the old position of the head, get the new position
	// as their parent; nothing else of a line changes. It fails if the writer is
	// fenced.
	Rebase OnConflict = "rebase"
	// Branch stores the lines on a separate head, which continues from
	// where the writer last saw its head.
	Branch OnConflict = "branch"
)

// ParseOnConflict reads an OnConflict as people write it. The empty string is a
// valid one. Returns ErrInvalid for text that is none.
func ParseOnConflict(s string) (OnConflict, error) {
	switch o := OnConflict(s); o {
	case "", Fail, Rebase, Branch:
		return o, nil
	}
	return "", fmt.Errorf("on conflict %q: must be fail, rebase or branch: %w", clip(s), core.ErrInvalid)
}
