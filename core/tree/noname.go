package tree

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// NoName says why NewName of d made no line: its agent's sessions have no names, or
// keep the one that they have.
func NoName(d core.Dialect) error {
	if d.NewName("x") == nil {
		return fmt.Errorf("sessions of %s have no name: %w", d.Name(), core.ErrInvalid)
	}
	return fmt.Errorf("the name of a session of %s can be replaced, but not removed: %w", d.Name(), core.ErrInvalid)
}
