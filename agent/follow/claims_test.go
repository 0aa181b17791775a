package follow_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

// claiming returns a follower that claims heads for a host.
func claiming(t testing.TB, node *client.Client, host string, idle time.Duration) *setup {
	t.Helper()
	s := &setup{dir: t.TempDir(), state: t.TempDir(), node: node, line: &line{}, told: &told{}, host: host, idle: idle}
	s.path = filepath.Join(s.dir, "a.jsonl")
	s.open(t)
	return s
}

// holder returns the claim on a head, or nil.
func holder(t testing.TB, node *client.Client, head string) *core.Claim {
	t.Helper()
	hs, err := node.Heads(t.Context(), sessionID)
	if err != nil {
		return nil
	}
	for _, h := range hs.Heads {
		if h.Head == head {
			return h.Claim
		}
	}
	return nil
}

func isHeldBy(t testing.TB, node *client.Client, head, host string) func() bool {
	return func() bool {
		c := holder(t, node, head)
		return host == "" && c == nil || c != nil && c.Host == host
	}
}

func TestClaimsHeadWhileLinesCome(t *testing.T) {
	t.Parallel()
	s := claiming(t, startCluster(t).node(t), "ann", time.Second)
	s.run(t)
	write(t, s.path, text(header, said("a", "", "one")))
	until(t, "ann to hold main", isHeldBy(t, s.node, core.MainHead, "ann"))
	if c := holder(t, s.node, core.MainHead); c != nil && (c.Agent != "pi" || c.By != "tester") {
		t.Errorf("the claim is %+v", c)
	}
	until(t, "main to be free", isHeldBy(t, s.node, core.MainHead, ""))
	add(t, s.path, said("b", "a", "two")+"\n")
	until(t, "ann to hold main again", isHeldBy(t, s.node, core.MainHead, "ann"))
	s.inLog(t, text(header, said("a", "", "one"), said("b", "a", "two")))
}

func TestReleasesHeadSoonAfterTheTurnEnded(t *testing.T) {
	t.Parallel()
	s := claiming(t, startCluster(t).node(t), "ann", time.Hour)
	s.run(t)
	write(t, s.path, text(header, said("a", "", "one")))
	until(t, "ann to hold main", isHeldBy(t, s.node, core.MainHead, "ann"))
	add(t, s.path, text(`{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:00.000Z",`+
		`"message":{"role":"assistant","content":[{"type":"text","text":"two"}],"stopReason":"stop","timestamp":1}}`))
	until(t, "main to be free", isHeldBy(t, s.node, core.MainHead, ""))
}

func TestReportsThatAnotherWriterTookOver(t *testing.T) {
	t.Parallel()
	s := claiming(t, startCluster(t).node(t), "ann", time.Hour)
	stop := s.run(t)
	write(t, s.path, text(header, said("a", "", "one")))
	until(t, "ann to hold main", isHeldBy(t, s.node, core.MainHead, "ann"))
	if _, err := s.node.Claim(t.Context(), sessionID, core.ClaimRequest{Head: core.MainHead, Agent: "pi", Host: "bob", Writer: "writer-of-bob", TakeOver: true}); err != nil {
		t.Fatal(err)
	}
	stop()
	if s.told.count(follow.TakenOver) != 1 || !isHeldBy(t, s.node, core.MainHead, "bob")() {
		t.Errorf("told %v", s.told.all)
	}
}

// A tool may run for long: the claim stays, but it locks no other writer out.
func TestStopsAnnouncingAQuietClaim(t *testing.T) {
	t.Parallel()
	s := claiming(t, startCluster(t).node(t), "ann", time.Hour)
	s.run(t)
	write(t, s.path, text(header, said("a", "", "one")))
	announced := func() bool {
		list, err := s.node.Presence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Present, func(p session.Present) bool { return p.Host == "ann" && len(p.Holds) > 0 })
	}
	until(t, "ann to be seen", announced)
	until(t, "ann not to be seen", func() bool { return !announced() })
	if c := holder(t, s.node, core.MainHead); c == nil || c.Host != "ann" {
		t.Errorf("main is held by %v", c)
	}
	add(t, s.path, said("b", "a", "two")+"\n")
	until(t, "ann to be seen again", announced)
}

func TestRunAnnouncesClaimsAndReleasesThem(t *testing.T) {
	t.Parallel()
	s := claiming(t, startCluster(t).node(t), "ann", time.Hour)
	stop := s.run(t)
	write(t, s.path, text(header, said("a", "", "one")))
	until(t, "ann to be seen with main", func() bool {
		list, err := s.node.Presence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Present {
			if p.Host == "ann" && p.Agent == "pi" && len(p.Holds) == 1 && p.Holds[0].Session == sessionID {
				return true
			}
		}
		return false
	})
	stop()
	if c := holder(t, s.node, core.MainHead); c != nil {
		t.Errorf("after the end it is held by %v", c)
	}
}

// The agents of two hosts continue one session at the same time. Every line is in
// the log once; one host holds main and the other a separate head, which is
// reported once.
func TestConcurrentHostsClaimAHeadEach(t *testing.T) {
	t.Parallel()
	node := startCluster(t).node(t)
	hosts := []*setup{claiming(t, node, "ann", time.Hour), claiming(t, node, "bob", time.Hour)}
	common := text(header, said("a", "", "one"))
	for _, s := range hosts {
		write(t, s.path, common)
		s.flush(t)
		s.run(t)
	}
	var wg sync.WaitGroup
	for _, s := range hosts {
		wg.Go(func() {
			for i := range 40 {
				add(t, s.path, said(fmt.Sprint(s.host, i), parent(s.host, i), "on "+s.host)+"\n")
				time.Sleep(2 * time.Millisecond) // a realistic pace; the test does not depend on it
			}
		})
	}
	wg.Wait()
	for _, s := range hosts {
		s.flush(t)
	}
	got := exported(t, node, sessionID)
	for _, s := range hosts {
		data := testkit.ReadFile(t, s.path)
		for l := range bytes.Lines(data) {
			if n := bytes.Count(got, l); n != 1 {
				t.Errorf("%d times in the log: %s", n, l)
			}
		}
		f := s.Files()[0]
		if at := headAt(t, node, f.Head); at != s.host+"39" {
			t.Errorf("the head %s of %s points to %s", f.Head, s.host, at)
		}
		until(t, s.host+" to hold its head", isHeldBy(t, node, f.Head, s.host))
	}
	ann, bob := hosts[0], hosts[1]
	if a, b := ann.Files()[0].Head, bob.Files()[0].Head; a == b {
		t.Errorf("both are on %s", a)
	}
	if n := ann.told.count(follow.Diverged) + bob.told.count(follow.Diverged); n != 1 {
		t.Errorf("%d notices of divergence: %v %v", n, ann.told.all, bob.told.all)
	}
}

func TestLeavesHeadToOtherHost(t *testing.T) {
	t.Parallel()
	node := startCluster(t).node(t)
	ann, bob := claiming(t, node, "ann", time.Hour), claiming(t, node, "bob", time.Hour)
	common := text(header, said("a", "", "one"))
	write(t, ann.path, common)
	ann.run(t)
	until(t, "ann to hold main", isHeldBy(t, node, core.MainHead, "ann"))
	write(t, bob.path, common+said("y0", "a", "on bob")+"\n")
	bob.run(t)
	until(t, "the notice for bob", func() bool { return bob.told.count(follow.Diverged) == 1 })
	n := bob.told.first(follow.Diverged)
	if !strings.HasPrefix(n.Text, "pi on ann continued session "+sessionID) || !strings.Contains(n.Text, "sessctl resume") {
		t.Errorf("the notice is %s", n.Text)
	}
	until(t, "bob to hold its own head", isHeldBy(t, node, n.Head, "bob"))
	if c := holder(t, node, core.MainHead); c == nil || c.Host != "ann" || headAt(t, node, core.MainHead) != "a" {
		t.Errorf("main is held by %v, at %s", c, headAt(t, node, core.MainHead))
	}
	if ann.told.count(follow.Diverged) != 0 {
		t.Error(ann.told.all)
	}
}

// A follower that was killed continues under its claim, and releases it in the
// end.
func TestKeepsClaimAfterCrash(t *testing.T) {
	t.Parallel()
	s := claiming(t, startCluster(t).node(t), "ann", time.Hour)
	stop := s.run(t)
	write(t, s.path, text(header, said("a", "", "one")))
	until(t, "ann to hold main", isHeldBy(t, s.node, core.MainHead, "ann"))
	before := holder(t, s.node, core.MainHead)
	s.line.down.Store(true)
	stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.line.down.Store(false)
	s.host = "ann-renamed" // the claim is recognized by the state, not by the host
	s.open(t)
	stop = s.run(t)
	add(t, s.path, said("b", "a", "two")+"\n")
	until(t, "the line", func() bool { return headAt(t, s.node, core.MainHead) == "b" })
	if c := holder(t, s.node, core.MainHead); c == nil || c.Writer != before.Writer {
		t.Errorf("main is held by %v, and was by %v", c, before)
	}
	stop()
	if c := holder(t, s.node, core.MainHead); c != nil || s.told.count(follow.Diverged) > 0 {
		t.Errorf("main is held by %v; notices: %v", c, s.told.all)
	}
}

func TestSharesClaimOfTheSameHost(t *testing.T) {
	t.Parallel()
	s := claiming(t, startCluster(t).node(t), "ann", time.Hour)
	write(t, s.path, text(header, said("a", "", "one")))
	s.flush(t)
	theirs, err := s.node.Claim(t.Context(), sessionID, core.ClaimRequest{Agent: "pi", Host: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	stop := s.run(t)
	add(t, s.path, said("b", "a", "two")+"\n")
	until(t, "the line", func() bool { return headAt(t, s.node, core.MainHead) == "b" })
	stop()
	if c := holder(t, s.node, core.MainHead); c == nil || c.Writer != theirs.Writer || s.told.count(follow.Diverged) > 0 {
		t.Errorf("main is held by %v; notices: %v", c, s.told.all)
	}
}

// After a take-over, the lines of the former holder go to a separate head, also
// after the head has been released.
func TestTakeOverEndsClaim(t *testing.T) {
	t.Parallel()
	s := claiming(t, startCluster(t).node(t), "ann", time.Hour)
	s.run(t)
	write(t, s.path, text(header, said("a", "", "one")))
	until(t, "ann to hold main", isHeldBy(t, s.node, core.MainHead, "ann"))
	theirs, err := s.node.Claim(t.Context(), sessionID, core.ClaimRequest{Agent: "pi", Host: "bob", TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	add(t, s.path, said("b", "a", "two")+"\n")
	until(t, "the notice for ann", func() bool { return s.told.count(follow.Diverged) == 1 })
	own := s.told.first(follow.Diverged).Head
	until(t, "ann to hold its own head", isHeldBy(t, s.node, own, "ann"))
	if c := holder(t, s.node, core.MainHead); c == nil || c.Writer != theirs.Writer || headAt(t, s.node, core.MainHead) != "a" {
		t.Errorf("main is held by %v", c)
	}
}
