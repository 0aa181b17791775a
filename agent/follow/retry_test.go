package follow_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

func TestReportsDuplicateIDOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one"), said("b", "a", "two")))
	s.flush(t)
	write(t, s.path, text(header, said("x", "", "one"), said("y", "x", "two"), said("y", "x", "three")))
	s.flush(t)
	if n := len(notes(t, s.node, sessionID)); n > 1 {
		t.Errorf("%d notes of removed lines", n)
	}
	if n := s.told.count(follow.BadFile); n != 1 {
		t.Errorf("%d notices: %v", n, s.told.all)
	}
}

// Another writer keeps writing to a different head of the session.
func TestImportsFileOfBusySession(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one"), said("b", "a", "two")))
	s.flush(t)
	parent := "a"
	elsewhere := func(id string) {
		if _, err := s.node.Append(t.Context(), sessionID, []byte(said(id, parent, "other")), client.AppendOptions{Head: "other"}); err != nil {
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
		t.Errorf("%d imports", imports)
	}
	if at := headAt(t, s.node, core.MainHead); at != "c" {
		t.Errorf("main points to %s", at)
	}
}

// While another writer holds the head, the fence is rejected. A file that does not
// change then costs no requests.
func TestRejectedFenceBacksOff(t *testing.T) {
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
			if _, err := s.node.Claim(t.Context(), sessionID, core.ClaimRequest{Head: core.MainHead, Agent: "pi", Host: "elsewhere"}); err != nil {
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
		t.Errorf("%d attempts to fence", n)
	}
	before := all.Load()
	s.flush(t)
	if n := all.Load() - before; n > 1 {
		t.Errorf("an unchanged file took %d requests", n)
	}
}
