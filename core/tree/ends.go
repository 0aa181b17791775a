package tree

import (
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
)

// CheckEnd returns core.ErrInvalid if a session made of path would continue at an
// entry that path lacks, because its last entry moves the session to another branch.
func CheckEnd(d core.Tree, path []core.Entry) error {
	id, named := d.Leaf(path).ID()
	if !named || slices.ContainsFunc(path, func(e core.Entry) bool { return e.ID == id }) {
		return nil
	}
	return fmt.Errorf("entry %.64q moves the session to %.64q, which is not on its path; fork there instead: %w", path[len(path)-1].ID, id, core.ErrInvalid)
}
