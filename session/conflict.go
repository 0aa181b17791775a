package session

import "github.com/sesslog/sesslog/core"

// OnConflict says what happens to appended lines if another writer was first.
type OnConflict = core.OnConflict

// The ways to handle a conflict.
const (
	Fail   = core.OnConflictFail
	Rebase = core.OnConflictRebase
	Branch = core.OnConflictBranch
)

// ParseOnConflict is core.ParseOnConflict.
func ParseOnConflict(s string) (OnConflict, error) { return core.ParseOnConflict(s) }
