package session

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// OnConflict says what becomes of lines when another writer came first.
type OnConflict string

// What becomes of lines when another came first.
const (
	// Fail stores nothing: the error says who wrote what, and has the lines. It
	// is what the empty OnConflict means, too.
	Fail OnConflict = "fail"
	// Rebase puts the lines behind where the head stands now. Parents that were
	// not said, or that are where the head stood, follow; nothing else of a line
	// changes. Where the writer is fenced it is Fail.
	Rebase OnConflict = "rebase"
	// Branch puts the lines on a head of their own, which goes on from where the
	// writer saw its head last.
	Branch OnConflict = "branch"
)

// ParseOnConflict reads an OnConflict as people write it. core.ErrInvalid when it
// is none.
func ParseOnConflict(s string) (OnConflict, error) {
	switch o := OnConflict(s); o {
	case "", Fail, Rebase, Branch:
		return o, nil
	}
	return "", fmt.Errorf("%.64q says not what to do in a conflict, say fail, rebase or branch: %w", s, core.ErrInvalid)
}
