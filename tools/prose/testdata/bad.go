// Package bad reads the log anew.
package bad

import (
	"errors"
	"fmt"
)

// Follow returns the records that come, and it
// goes on where the caller was.
func Follow(n int) error {
	if n > 1 {
		return errors.New("nobody answers")
	}
	/* Whoever asks for one, gets one. */
	text := "the disk is " +
		"harmed for good"
	help := `Checks the session.

It mends what can be mended.`
	_, _ = text, help
	return fmt.Errorf("the first line of this error is far longer than an operator wants to read in a log, because it tells a whole story about %d things: %w", n, errors.ErrUnsupported)
}

type command struct{ Use, Short string }

var verify = command{
	Use:   "verify SESSION",
	Short: "Check that all the records of a session are where the log says they are",
}
