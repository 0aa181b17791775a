package core_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/newid"
)

func TestNewIDsAreSafeInPathsTerminalsAndCommandLines(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "a", "a.b", "...", "*", ">", "a b", "日本", "-rf"} {
		if err := newid.CheckEntry(id); err != nil {
			t.Errorf("entry id %q: %v", id, err)
		}
	}
	for _, id := range []string{".", "..", "\x00", "a\nb", "\u202e", "a\x1b[2J", "\u200b", "\xff"} {
		if err := newid.CheckEntry(id); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("entry id %q: %v", id, err)
		}
	}
	for id, ok := range map[string]bool{"abcdefgh": true, "a-bcdefg": true, "-rf-rf-rf": false, "short": false} {
		if _, err := newid.ParseSession(id); (err == nil) != ok {
			t.Errorf("session id %q: %v", id, err)
		}
	}
}
