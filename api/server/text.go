package server

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// maxText bounds what a caller may say in one word or sentence: labels, names,
// reasons, directories.
const maxText = 4 << 10

// checkText bounds a caller's words.
func checkText(words ...string) error {
	for _, s := range words {
		if len(s) > maxText {
			return fmt.Errorf("a text of %d bytes, %d are allowed: %w", len(s), maxText, core.ErrInvalid)
		}
	}
	return nil
}
