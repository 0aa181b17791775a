package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/nodetest"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
)

// present gives the node presence, on a separate broker.
func present(t *testing.T) nodeOption {
	t.Helper()
	js, err := jetstream.New(nodetest.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	p := stream.NewPresence(js, "main", 1, session.Presence{ID: "node-test", Agent: "test", Since: time.Now().UTC()})
	return func(c *server.Config) { c.Presence = p }
}

const spoken = `{"type":"message","id":%q,"message":{"role":"user","content":"hi"}}`

func say(id string) []byte { return fmt.Appendf(nil, spoken+"\n", id) }

// newSession creates an empty session and returns its id.
func (n *node) newSession(t *testing.T) string {
	t.Helper()
	made, err := n.Create(t.Context(), api.Create{})
	if err != nil {
		t.Fatal(err)
	}
	return string(made.ID)
}

func (n *node) append(t *testing.T, id, entry string, o client.AppendOptions) core.Receipt {
	t.Helper()
	done, err := n.Append(t.Context(), id, say(entry), o)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestConflictReturnsLinesToSecondWriter(t *testing.T) {
	t.Parallel()
	n := startNode(t, present(t))
	id := n.newSession(t)
	seen := n.append(t, id, "first", client.AppendOptions{}).Cursor.String()
	n.append(t, id, "theirs", client.AppendOptions{})

	body := append(append([]byte("\n  "), say("mine-1")...), say("mine-2")...)
	_, err := n.Append(t.Context(), id, body, client.AppendOptions{After: seen})
	e, ok := errors.AsType[*core.ConflictError](err)
	if !ok || !errors.Is(err, core.ErrConflict) {
		t.Fatalf("error is %v, want a conflict", err)
	}
	if len(e.Lines) != 2 || !bytes.Equal(e.Lines[0], body[1:len(body)-len(say("mine-2"))-1]) {
		t.Errorf("lines %q", e.Lines)
	}
	if d := detail(t, err); len(d.Since) != 1 || d.Since[0].Entries[0] != "theirs" || d.Cursor == nil {
		t.Errorf("problem %+v", d)
	}

	for _, o := range []client.AppendOptions{
		{After: seen, OnConflict: session.Branch, Branch: "side"},
		{After: seen, OnConflict: session.Branch, Branch: "side"}, // again
	} {
		done, err := n.Append(t.Context(), id, body, o)
		if err != nil || done.Head != "side" {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	done, err := n.Append(t.Context(), id, say("behind"), client.AppendOptions{After: seen, OnConflict: session.Rebase})
	if err != nil || done.Head != "" || done.Stored != 1 {
		t.Fatalf("%+v, %v", done, err)
	}

	hs, err := n.Heads(t.Context(), id)
	if err != nil || len(hs.Heads) != 2 {
		t.Fatalf("%+v, %v", hs, err)
	}
	side := hs.Heads[1]
	if side.Head != "side" || side.Fork != "first" || side.Ahead != 2 || side.Behind != 2 || side.Entry == nil || side.Entry.ID != "mine-2" || side.Entry.Text != "user: hi" {
		t.Errorf("side: %+v, %+v", side, side.Entry)
	}
	if main := hs.Heads[0]; main.Entry == nil || main.Entry.ID != "behind" || main.Ahead+main.Behind != 0 {
		t.Errorf("main: %+v", main)
	}
}

func TestInvalidOnConflictIsRejected(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.newSession(t)
	for _, q := range []string{"onConflict=merge", "onConflict=branch&branch=a%20b", "branch=side", "onConflict=branch&branch=main", "onConflict=branch&branch=" + strings.Repeat("x", 65)} {
		res, body := n.request(t, http.MethodPost, "/v1/sessions/"+id+"/entries?"+q, string(say("m")))
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s: %s", q, res.Status, body)
		}
	}
}

// A label for a head that another writer holds can go to a new branch.
func TestLabelCanBranch(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.newSession(t)
	n.append(t, id, "first", client.AppendOptions{})
	if _, err := n.Claim(t.Context(), id, core.ClaimRequest{Agent: "pi"}); err != nil {
		t.Fatal(err)
	}
	o := client.AppendOptions{Key: "k"}
	if _, err := n.Label(t.Context(), id, api.LabelRequest{Target: "first", Label: "good"}, o); !errors.Is(err, core.ErrFenced) {
		t.Errorf("error is %v, want fenced", err)
	}
	o.OnConflict = session.Branch
	done, err := n.Label(t.Context(), id, api.LabelRequest{Target: "first", Label: "good"}, o)
	if err != nil || !strings.HasPrefix(done.Head, "main-") {
		t.Fatalf("%+v, %v", done, err)
	}
	again, err := n.Label(t.Context(), id, api.LabelRequest{Target: "first", Label: "good"}, o)
	if err != nil || again.Head != done.Head || again.Stored != 0 {
		t.Errorf("retry: %+v, %v", again, err)
	}
}

func TestRefusedClaimReportsHolderPresence(t *testing.T) {
	t.Parallel()
	n := startNode(t, present(t))
	id := n.newSession(t)
	held, err := n.Claim(t.Context(), id, core.ClaimRequest{Agent: "pi", Host: "laptop"})
	if err != nil {
		t.Fatal(err)
	}
	refused := func() api.Detail {
		t.Helper()
		_, err := n.Claim(t.Context(), id, core.ClaimRequest{Agent: "omp"})
		return detail(t, err)
	}
	if d := refused(); d.Code != "fenced" || d.Life == nil || d.Life.State != session.LifeNew {
		t.Errorf("before its first heartbeat: %+v", d)
	}
	p := session.Presence{ID: "process-1", Agent: "pi", Host: "laptop", Holds: []session.HeldClaim{{Session: core.SessionID(id), Head: "main", Writer: held.Writer}}}
	if err := n.Beat(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if d := refused(); d.Life == nil || d.Life.State != session.LifeAlive || d.Life.Host != "laptop" || !strings.Contains(d.Detail, "it is alive, last seen ") {
		t.Errorf("while it is present: %+v", d)
	}
	list, err := n.Presence(t.Context())
	if err != nil || len(list.Present) != 2 || list.Present[1].ID != "process-1" || list.Present[0].Kind != "node" {
		t.Errorf("%+v, %v", list, err)
	}
	for range 2 {
		if err := n.Leave(t.Context(), "process-1"); err != nil {
			t.Fatal(err)
		}
	}
	if hs, err := n.Heads(t.Context(), id); err != nil || hs.Heads[0].Life == nil || hs.Heads[0].Life.State != session.LifeNew {
		t.Errorf("after it left: %+v, %v", hs, err)
	}
}

func TestInvalidPresenceIsRejected(t *testing.T) {
	t.Parallel()
	n := startNode(t, present(t))
	for path, body := range map[string]string{
		"/v1/presence/process-1":  `{"id":"process-2"}`,
		"/v1/presence/short":      `{}`,
		"/v1/presence/proc.ess.1": `{}`,
		"/v1/presence/process-3":  `{"agent":"` + strings.Repeat("a", 300) + `"}`,
		"/v1/presence/process-4":  `{"holds":[{"session":"../../x","head":"main","writer":"writer-1"}]}`,
		"/v1/presence/process-5":  `{"seen":"2026-01-01T00:00:00Z"}`,
	} {
		if res, text := n.request(t, http.MethodPut, path, body); res.StatusCode != http.StatusBadRequest {
			t.Errorf("PUT %s %s: %s %s", path, body, res.Status, text)
		}
	}
	// A client clock that is ahead does not put its presence in the future.
	if res, _ := n.request(t, http.MethodPut, "/v1/presence/process-6", `{"since":"2999-01-01T00:00:00Z"}`); res.StatusCode != http.StatusNoContent {
		t.Error(res.Status)
	}
	list, err := n.Presence(t.Context())
	if err != nil || len(list.Present) != 2 || list.Present[1].Since.Year() > 2900 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Two agents on two heads of one session do not disturb each other or checkpoints.
// Each head is as if its agent were alone.
func TestWritersOnTwoHeadsAreIndependent(t *testing.T) {
	t.Parallel()
	n := startNode(t, present(t))
	id := n.newSession(t)
	n.append(t, id, "shared", client.AppendOptions{})
	const turns = 40
	var wg sync.WaitGroup
	got := map[string][]string{"main": nil, "side": nil}
	open := map[string]*session.Session{}
	for head := range got {
		s, err := session.Open(t.Context(), n.Log(), core.SessionID(id), session.Options{Head: head, Agent: head})
		if err != nil {
			t.Fatal(err)
		}
		open[head] = s
	}
	var mu sync.Mutex
	for head, s := range open {
		wg.Go(func() {
			var mine []string
			for i := range turns {
				ids, err := s.Append(t.Context(), item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockText, Text: fmt.Sprint(head, i)}}})
				if err != nil {
					t.Errorf("%s, turn %d: %v", head, i, err)
					return
				}
				mine = append(mine, ids...)
			}
			mu.Lock()
			defer mu.Unlock()
			got[head] = mine
		})
	}
	wg.Go(func() {
		for range 5 {
			if _, err := n.Checkpoint(t.Context(), id); err != nil {
				t.Errorf("checkpoint: %v", err)
			}
		}
	})
	wg.Wait()
	list, err := n.Presence(t.Context())
	if err != nil || len(list.Present) != 3 {
		t.Errorf("present are %+v, %v", list, err)
	}
	for head, mine := range got {
		path := pathOf(t, n, id, head)
		want := append([]string{"shared"}, mine...)
		if len(mine) != turns || strings.Join(path, " ") != strings.Join(want, " ") {
			t.Errorf("%s is %v, want %v", head, path, want)
		}
	}
	hs, err := n.Heads(t.Context(), id)
	if err != nil || len(hs.Heads) != 2 {
		t.Fatalf("%+v, %v", hs, err)
	}
	if side := hs.Heads[1]; side.Ahead != turns || side.Behind != turns || side.Fork != "shared" || side.Life.State != session.LifeAlive {
		t.Errorf("side: %+v", side)
	}
	for _, s := range open {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if list, err := n.Presence(t.Context()); err != nil || len(list.Present) != 1 {
		t.Errorf("after both were closed: %+v, %v", list, err)
	}
	if rep, err := n.Verify(t.Context(), id); err != nil || len(rep.Problems) > 0 || rep.Entries != 1+2*turns {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

// pathOf returns the ids on the path to the entry that head points to.
func pathOf(t *testing.T, n *node, id, head string) []string {
	t.Helper()
	r, err := n.Entries(t.Context(), id, true, client.View{Head: head})
	var ids []string
	for line := range strings.Lines(read(t, r, err)) {
		ids = append(ids, mustJSON[struct{ ID string }](t, line).ID)
	}
	return ids
}
