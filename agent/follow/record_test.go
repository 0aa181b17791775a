package follow_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
)

func TestNotesAreRecordedOnceDespiteLostAnswers(t *testing.T) {
	t.Parallel()
	a, b := said("a", "", "one"), said("b", "a", "two")
	for name, x := range map[string]struct {
		become []string
		why    string
	}{
		"removed lines": {[]string{header, a}, "1 line left "},
		"a bad line":    {[]string{header, a, b, `{"id":"x"}{"id":"y"}`}, "lines of "},
		"a conflict":    {[]string{header, a, said("b", "a", "2!!")}, "1 line of "},
	} {
		for _, anew := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", restarted"}[anew], func(t *testing.T) {
				t.Parallel()
				s := newSetup(t, startCluster(t).node(t), t.TempDir())
				write(t, s.path, text(header, a, b))
				s.flush(t)
				if strings.HasPrefix(name, "a conflict") {
					if _, err := s.node.Amend(t.Context(), sessionID, "b", []byte(said("b", "a", "TWO")), client.AppendOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				write(t, s.path, text(x.become...))
				s.line.lose.Store(1)
				if anew {
					s.cutOff(t)
				}
				s.flush(t)
				n := 0
				for _, why := range notes(t, s.node, sessionID) {
					if strings.HasPrefix(why, x.why) {
						n++
					}
				}
				if n != 1 {
					t.Errorf("%d notes, want 1: %q", n, notes(t, s.node, sessionID))
				}
			})
		}
	}
}

// cutOff flushes until an answer is lost, ends like a killed process, and opens the
// follower again.
func (s *setup) cutOff(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dies := func(*http.Request) {
		if s.line.lose.Load() <= 0 {
			cancel()
		}
	}
	s.line.before.Store(&dies)
	if s.Flush(ctx) == nil {
		t.Fatal("no answer was lost")
	}
	s.line.before.Store(nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.open(t)
}
