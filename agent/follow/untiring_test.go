package follow_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// What no second try mends is told, and not tried for ever.
func TestTwoNewLinesOfOneIDAreToldOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one"), said("b", "a", "two")))
	s.flush(t)
	write(t, s.path, text(header, said("x", "", "one"), said("y", "x", "two"), said("y", "x", "three")))
	s.flush(t)
	if n := len(notes(t, s.node, sessionID)); n > 1 {
		t.Errorf("the session has %d notes of the lines that left", n)
	}
	if n := s.told.count(follow.BadFile); n != 1 {
		t.Errorf("it was told %d times: %v", n, s.told.all)
	}
}

// Somebody who writes to another head of a session all the time does not keep a
// file from being brought in.
func TestAFileIsBroughtInHoweverBusyItsSessionIs(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one"), said("b", "a", "two")))
	s.flush(t)
	parent := "a"
	elsewhere := func(id string) {
		if _, err := s.node.Append(t.Context(), sessionID, []byte(said(id, parent, "other")), api.AppendOptions{Head: "other"}); err != nil {
			t.Error(err)
		}
		parent = id
	}
	elsewhere("o")
	imports := 0
	busy := func(r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/import") && imports < 100 {
			imports++
			elsewhere(fmt.Sprint("o", imports))
		}
	}
	s.line.before.Store(&busy)
	write(t, s.path, text(header, said("a", "", "1!!"), said("b", "a", "two"), said("c", "b", "three")))
	s.flush(t)
	if imports == 0 || imports > 5 {
		t.Errorf("it was sent %d times", imports)
	}
	if at := headAt(t, s.node, core.MainHead); at != "c" {
		t.Errorf("main stands at %s", at)
	}
}

// Where a fence cannot be put, for somebody else holds the head, a file that does
// not change costs nothing.
func TestAFenceThatIsRefusedIsNotTriedAtEveryLook(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one"), said("b", "a", "two")))
	s.flush(t)
	var sent, claimed atomic.Bool
	var moves, all atomic.Int64
	watch := func(r *http.Request) {
		all.Add(1)
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/entries"):
			sent.Store(true)
		case r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/heads/"):
			moves.Add(1)
		case sent.Load() && claimed.CompareAndSwap(false, true):
			if _, err := s.node.Claim(t.Context(), sessionID, api.ClaimRequest{Head: core.MainHead, Agent: "pi", Host: "elsewhere"}); err != nil {
				t.Error(err)
			}
		}
	}
	s.line.before.Store(&watch)
	s.line.lose.Store(1)
	add(t, s.path, said("c", "b", "three")+"\n")
	for range 8 {
		s.flush(t)
	}
	if n := moves.Load(); !claimed.Load() || n > 1 {
		t.Errorf("it was tried %d times to put a fence", n)
	}
	before := all.Load()
	s.flush(t)
	if n := all.Load() - before; n > 1 {
		t.Errorf("a look at a file that did not change took %d requests", n)
	}
}
