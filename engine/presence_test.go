package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// brokerOf returns a JetStream client of s that is closed at the end of the test.
func brokerOf(t *testing.T, s *embedded.Server) jetstream.JetStream {
	t.Helper()
	conn, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// forgetPresence deletes the bucket, like a restart of all brokers.
func forgetPresence(t *testing.T, s *embedded.Server) {
	t.Helper()
	if err := brokerOf(t, s).DeleteKeyValue(t.Context(), "SESSHERE_main"); err != nil {
		t.Fatal(err)
	}
}

// presenceOn is the presence of log "main" on the node called name.
func presenceOn(t *testing.T, s *embedded.Server, replicas int, name string) *stream.Presence {
	t.Helper()
	return stream.NewPresence(brokerOf(t, s), "main", replicas, session.Presence{ID: "node-" + name, Agent: name, Since: time.Now().UTC()})
}

func hold(id core.SessionID, head, writer string) session.HeldClaim {
	return session.HeldClaim{Session: id, Head: head, Writer: writer}
}

// listed waits until n processes are listed.
func listed(t *testing.T, p *stream.Presence, n int) []session.Present {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		list, err := p.List(t.Context())
		if err == nil && len(list) == n {
			return list
		}
		if time.Now().After(deadline) {
			t.Fatalf("want %d processes, got %+v, %v", n, list, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestWriterIsPresentOnEveryNodeUntilItLeaves(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	servers := embeddedtest.StartCluster(t, 3)
	var nodes []*stream.Presence
	for i, name := range []string{"one", "two", "three"} {
		nodes = append(nodes, presenceOn(t, servers[i], 3, name))
	}
	for _, n := range nodes {
		listed(t, n, 1+indexOf(nodes, n))
	}
	pi := session.Presence{ID: "writer-1", Agent: "pi", Host: "laptop", Holds: []session.HeldClaim{hold("session-1", "main", "writer-a")}}
	if err := nodes[0].Beat(t.Context(), pi); err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		list := listed(t, n, 4)
		w := list[3]
		if list[0].Kind != stream.KindNode || w.Kind != stream.KindWriter || !w.Alive || w.Agent != "pi" || w.Node != "one" || w.Since.IsZero() {
			t.Errorf("node %d sees %+v", i, list)
		}
		life := session.LifeOf(list, "session-1", "main", &core.Claim{Writer: "writer-a"}, time.Now())
		testkit.Equal(t, "life", session.Life{State: session.LifeAlive, Seen: w.Seen, Host: "laptop"}, life)
	}
	// After a broker dies, presence is still known.
	if err := servers[0].Close(); err != nil {
		t.Fatal(err)
	}
	listed(t, nodes[2], 4)
	if err := nodes[1].Leave(t.Context(), "writer-1"); err != nil {
		t.Fatal(err)
	}
	listed(t, nodes[2], 3)
}

func indexOf(nodes []*stream.Presence, n *stream.Presence) int {
	for i := range nodes {
		if nodes[i] == n {
			return i
		}
	}
	return -1
}

// Presence is kept in memory: a restarted broker has lost it, and processes announce
// themselves again.
func TestPresenceReturnsAfterBrokerRestart(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	p := presenceOn(t, s, 1, "one")
	who := session.Presence{ID: "writer-1"}
	if err := p.Beat(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	listed(t, p, 2)
	forgetPresence(t, s)
	listed(t, p, 1)
	if err := p.Beat(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	listed(t, p, 2)
}

func TestPresenceRejectsInvalidEntries(t *testing.T) {
	t.Parallel()
	p := presenceOn(t, embeddedtest.Start(t), 1, "one")
	many := make([]session.HeldClaim, session.MaxHolds+1)
	for i := range many {
		many[i] = hold("session-1", "main", "writer-a")
	}
	for name, who := range map[string]session.Presence{
		"no id":         {},
		"a key's point": {ID: "node.node-one"},
		"a wild card":   {ID: "writer-*>"},
		"a long word":   {ID: "writer-1", Agent: strings.Repeat("a", 1000)},
		"many claims":   {ID: "writer-1", Holds: many},
		"no session":    {ID: "writer-1", Holds: []session.HeldClaim{hold("x", "main", "writer-a")}},
		"no head":       {ID: "writer-1", Holds: []session.HeldClaim{hold("session-1", "a head", "writer-a")}},
		"no writer":     {ID: "writer-1", Holds: []session.HeldClaim{hold("session-1", "main", "")}},
	} {
		if err := p.Beat(t.Context(), who); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	testkit.WantErr(t, p.Leave(t.Context(), "writer-*>"), core.ErrInvalid)
	// The maximum size is accepted.
	id := strings.Repeat("s", 128)
	most := session.Presence{ID: id, Agent: strings.Repeat("a", 256), Host: strings.Repeat("b", 256), By: strings.Repeat("c", 256)}
	for range session.MaxHolds {
		most.Holds = append(most.Holds, hold(core.SessionID(id), strings.Repeat("h", 64), id))
	}
	if err := p.Beat(t.Context(), most); err != nil {
		t.Errorf("the maximum size: %v", err)
	}
}

func TestHolderLiveness(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	long, lately := now.Add(-time.Hour), now.Add(-time.Second)
	list := []session.Present{
		{Presence: session.Presence{Holds: []session.HeldClaim{hold("session-1", "main", "writer-a"), hold("session-1", "side", "writer-b")}}, Seen: lately, Alive: true},
		{Presence: session.Presence{Holds: []session.HeldClaim{hold("session-1", "main", "writer-a"), hold("session-2", "main", "writer-c")}}, Seen: long},
	}
	for _, c := range []struct {
		id     core.SessionID
		head   string
		writer string
		since  time.Time
		want   session.LifeState
		atWork bool
	}{
		{"session-1", "main", "writer-a", long, session.LifeAlive, true},
		{"session-2", "main", "writer-c", long, session.LifeSilent, false},
		{"session-1", "side", "writer-a", long, session.LifeUnknown, false}, // it holds another head
		{"session-2", "main", "writer-a", long, session.LifeUnknown, false},
		{"session-3", "main", "writer-d", lately, session.LifeNew, true},
	} {
		got := session.LifeOf(list, c.id, c.head, &core.Claim{Writer: c.writer, Since: c.since}, now)
		if got.State != c.want || got.AtWork() != c.atWork {
			t.Errorf("%s of %s@%s: %+v, active %v", c.writer, c.id, c.head, got, got.AtWork())
		}
	}
}

// A Go program announces the claim of its open session.
func TestOpenSessionIsPresentUntilClosed(t *testing.T) {
	t.Parallel()
	p := presenceOn(t, embeddedtest.Start(t), 1, "one")
	b := streamtest.NewBlobs()
	log := engine.NewLocal(engine.NewSessions(engine.Config{
		Log: full(memlog.New("main")), Blobs: b, Snapshots: b, Dialects: dialect.All(), Presence: p,
	}), nil)
	s, err := session.Create(t.Context(), log, "/w", session.Options{ID: "session-1", Agent: "pi", Host: "laptop"})
	if err != nil {
		t.Fatal(err)
	}
	w := listed(t, p, 2)[1]
	if len(w.Holds) != 1 || w.Holds[0].Session != "session-1" || w.Holds[0].Head != "main" || w.Agent != "pi" || w.Host != "laptop" {
		t.Errorf("its presence is %+v", w)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := p.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("after Close: %+v, %v", list, err)
	}
}

// A takeover applies only to the holder that the caller saw.
func TestTakeoverNeedsTheExpectedHolder(t *testing.T) {
	t.Parallel()
	_, ss, _ := inMemory()
	s := create(t, ss, "session-1")
	a := claim(t, s, core.ClaimRequest{Agent: "a"})
	b := claim(t, s, core.ClaimRequest{Agent: "b", TakeOver: true, From: a.Writer})
	_, _, err := s.Claim(t.Context(), core.ClaimRequest{Agent: "c", TakeOver: true, From: a.Writer})
	fenced, ok := errors.AsType[*core.FencedError](err)
	if !ok || fenced.Holder == nil || fenced.Holder.Writer != b.Writer {
		t.Errorf("error is %v, want that b holds it", err)
	}
}

// Any number of writers, real or claimed, does not hide nodes. Writers stay listed
// while they keep announcing themselves.
func TestManyWritersDoNotHideNodes(t *testing.T) {
	t.Parallel()
	p := presenceOn(t, embeddedtest.Start(t), 1, "one")
	most := session.Presence{Agent: strings.Repeat("a", 256)}
	for range session.MaxHolds {
		most.Holds = append(most.Holds, hold(core.SessionID(strings.Repeat("s", 128)), strings.Repeat("h", 64), strings.Repeat("w", 128)))
	}
	n := 0
	for _, who := range []session.Presence{most, {}} { // until even the smallest does not fit
		for err := error(nil); err == nil; n++ {
			if n == 5000 {
				t.Fatal("the size is not limited")
			}
			who.ID = fmt.Sprintf("writer-%04d", n)
			err = p.Beat(t.Context(), who)
		}
	}
	for range 2 {
		if list, err := p.List(t.Context()); err != nil || len(list) == 0 || list[0].Kind != stream.KindNode || !list[0].Alive {
			t.Fatalf("%v, %d are listed", err, len(list))
		}
	}
	most.ID = "writer-late"
	if err := p.Beat(t.Context(), most); err != nil {
		t.Errorf("a writer that is present: %v", err)
	}
	if list, err := p.List(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("%v, %d are listed", err, len(list))
	}
}

// A node that has just subscribed, or found the bucket lost, cannot conclude that a
// process is absent.
func TestPresenceReportsItsStartTime(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	p := presenceOn(t, s, 1, "one")
	began := p.Since()
	for range 2 {
		if _, err := p.Members(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if since := p.Since(); since.Before(began) || began.IsZero() {
		t.Errorf("it listens since %v, before that since %v", since, began)
	}
	forgetPresence(t, s)
	forgot := time.Now()
	for p.Since().Before(forgot) { // the first announcement may still go to the deleted bucket
		if _, err := p.Members(t.Context()); err != nil && !errors.Is(err, core.ErrUnavailable) {
			t.Fatal(err)
		}
	}
}
