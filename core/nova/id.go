package nova

import (
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsonl"
)

// CheckID returns core.ErrInvalid unless id can name a Nova session: 8 to 128
// characters of A-Z, a-z, 0-9, "_" and "-", and nothing else. The empty id is
// refused like any other; it does not mean "none".
func CheckID(id string) error {
	switch {
	case len(id) < core.MinSessionID:
		return fmt.Errorf("session_id %q has %d characters, Nova asks for %d: %w", id, len(id), core.MinSessionID, core.ErrInvalid)
	case strings.ContainsAny(id, `/\`) || strings.Contains(id, ".."):
		return fmt.Errorf("session_id %q leads out of the directory of sessions: %w", jsonl.Clip(id, 40), core.ErrInvalid)
	}
	if _, err := core.ParseSessionID(id); err != nil { // the log's rule is Nova's, and bounded
		return err
	}
	return nil
}
