package nova

import (
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Limits of a session's id. Nova has no upper limit, but file names do.
const (
	MinID = 8
	MaxID = 250
)

// CheckID returns core.ErrInvalid unless id is 8 to 250 characters of A-Z, a-z,
// 0-9, "_" and "-". An empty id is as invalid as any other.
func CheckID(id string) error {
	if len(id) < MinID || len(id) > MaxID {
		return fmt.Errorf("session_id %q has %d characters, %d to %d are allowed: %w", jsonl.Clip(id, 40), len(id), MinID, MaxID, core.ErrInvalid)
	}
	if strings.ContainsAny(id, `/\`) || strings.Contains(id, "..") {
		return fmt.Errorf("session_id %q has a path in it: %w", jsonl.Clip(id, 40), core.ErrInvalid)
	}
	if i := strings.IndexFunc(id, notInID); i >= 0 {
		return fmt.Errorf("session_id %q has %q in it, only A-Z a-z 0-9 _ - are allowed: %w", jsonl.Clip(id, 40), id[i:i+1], core.ErrInvalid)
	}
	return nil
}

func notInID(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}
