package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// importFile imports f through c. It must be a new session.
func importFile(t *testing.T, c *client.Client, f *harness.File) string {
	t.Helper()
	done, err := c.Import(harness.Timeout(t), bytes.NewReader(f.Bytes), int64(len(f.Bytes)), client.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if done.ID != f.ID || !done.Created || done.Entries != len(f.IDs) || len(done.Skipped) != 0 {
		t.Fatalf("import of %d entries: %+v", len(f.IDs), done)
	}
	return string(done.Session)
}

// appendText appends one message.
func appendText(t *testing.T, c *client.Client, id, words string, o client.AppendOptions) core.Receipt {
	t.Helper()
	done, err := c.Append(harness.Timeout(t), id, []byte(harness.Message("user", words)), o)
	if err != nil {
		t.Fatalf("append %q: %v", words, err)
	}
	return done
}

// sameBytes compares files, and reports where they differ.
func sameBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("%s: %d bytes, want %d; they differ at byte %d:\ngot  %.200q\nwant %.200q", what, len(got), len(want), at, got[at:], want[at:])
}

// intact fails the test if verify finds a problem.
func intact(t *testing.T, c *client.Client, id string) api.Report {
	t.Helper()
	r, err := c.Verify(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("verify of session %s: %s: %s: %s", id, p.Kind, p.What, p.Detail)
	}
	return r
}

// An entry has the fields of a line that the tests check.
type entry struct {
	ID       string  `json:"id"`
	ParentID *string `json:"parentId"`
	Type     string  `json:"type"`
	Message  struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"message"`
}

func (e entry) text() string {
	if len(e.Message.Content) == 0 {
		return ""
	}
	return e.Message.Content[0].Text
}

// entriesOf reads the entries of a session file.
func entriesOf(t *testing.T, file []byte) []entry {
	t.Helper()
	if !bytes.HasSuffix(file, []byte("\n")) {
		t.Fatal("a session file that does not end with a newline")
	}
	var es []entry
	for n, line := range bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n")) {
		if n == 0 {
			continue
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil && n > 0 {
			// Fields of other types belong to other kinds of entries.
			var id struct {
				ID       string  `json:"id"`
				ParentID *string `json:"parentId"`
				Type     string  `json:"type"`
			}
			if err := json.Unmarshal(line, &id); err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			e = entry{ID: id.ID, ParentID: id.ParentID, Type: id.Type}
		}
		es = append(es, e)
	}
	return es
}

// wellFormed fails the test if an ID occurs twice, or a parent does not precede its
// child.
func wellFormed(t *testing.T, es []entry) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range es {
		if seen[e.ID] {
			t.Errorf("entry %s occurs twice", e.ID)
		}
		if e.ParentID != nil && !seen[*e.ParentID] {
			t.Errorf("the parent %s of entry %s is not before it", *e.ParentID, e.ID)
		}
		seen[e.ID] = true
	}
}

// A crowd is a number of callers that append to one session concurrently, one message
// at a time, and retry each until it is answered.
type crowd struct {
	Acked      atomic.Int64 // answers
	Unanswered atomic.Int64 // requests without an answer
	Again      atomic.Int64 // appends that were stored without an answer

	t    *testing.T
	id   string
	name string // so that the messages of two crowds differ
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu    sync.Mutex
	acked map[string]string // texts of acknowledged messages by ID
}

// A try sends a request once: the client would retry it on the same node.
type try struct {
	crowd *crowd
	over  context.CancelFunc
}

func (r try) RoundTrip(q *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		r.crowd.Unanswered.Add(1)
		r.over()
	}
	return resp, err
}

var crowds atomic.Int64

// gather starts n callers. pick chooses the node for each try.
func gather(t *testing.T, id string, n int, pick func() *client.Client) *crowd {
	ctx, stop := context.WithCancel(t.Context())
	c := &crowd{t: t, id: id, name: fmt.Sprintf("crowd %d", crowds.Add(1)), stop: stop, acked: map[string]string{}}
	for i := range n {
		c.wg.Go(func() { c.call(ctx, i, pick) })
	}
	t.Cleanup(c.leave)
	return c
}

// leave waits until every caller has finished its current append.
func (c *crowd) leave() {
	c.stop()
	c.wg.Wait()
}

func (c *crowd) call(ctx context.Context, who int, pick func() *client.Client) {
	for n := 0; ctx.Err() == nil; n++ {
		words := fmt.Sprintf("%s, caller %d says %d", c.name, who, n)
		ids, err := c.say(words, pick)
		if err != nil {
			c.t.Errorf("%s: %v", words, err)
			return
		}
		c.mu.Lock()
		c.acked[ids[0]] = words
		c.mu.Unlock()
		c.Acked.Add(1)
	}
}

// say retries an append until it is answered, with each try on the node that pick
// returns.
func (c *crowd) say(words string, pick func() *client.Client) ([]string, error) {
	deadline := time.Now().Add(harness.WaitTimeout)
	for {
		cl := *pick()
		ctx, cancel := context.WithTimeout(c.t.Context(), harness.WaitTimeout)
		cl.HTTP = &http.Client{Transport: try{c, cancel}}
		done, err := cl.Append(ctx, c.id, []byte(harness.Message("user", words)), client.AppendOptions{Key: words})
		cancel()
		if err == nil && done.Stored == 0 {
			c.Again.Add(1)
		}
		if err == nil {
			return done.IDs, nil
		}
		again := errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrUnavailable)
		if !again || time.Now().After(deadline) {
			return nil, err
		}
		<-time.After(10 * time.Millisecond) // the node is down and restarts
	}
}

// said returns the texts of the messages acknowledged so far, by ID.
func (c *crowd) said() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.acked)
}

// await returns once n more appends are acknowledged.
func (c *crowd) await(n int64) {
	c.t.Helper()
	want := c.Acked.Load() + n
	harness.Await(c.t, "more appends", func() error {
		if have := c.Acked.Load(); have < want {
			return fmt.Errorf("%d of %d are acknowledged", have, want)
		}
		return nil
	})
}

// allThere fails the test if an acknowledged line is missing or a message is stored
// twice.
func allThere(t *testing.T, file []byte, acked map[string]string) {
	t.Helper()
	es := entriesOf(t, file)
	wellFormed(t, es)
	byID, count := map[string]string{}, map[string]int{}
	for _, e := range es {
		byID[e.ID] = e.text()
		if e.text() != "" {
			count[e.text()]++
		}
	}
	for id, words := range acked {
		if byID[id] != words {
			t.Errorf("%q was acknowledged as entry %s, which contains %q", words, id, byID[id])
		}
		if count[words] != 1 {
			t.Errorf("%q was acknowledged and is stored %d times", words, count[words])
		}
	}
}

// A view is everything that a node shows of a session.
type view struct {
	Cursor  core.Cursor
	Entries int
	Info    any // as decoded JSON
	Tree    []display.TreeNode
	Context string
	Export  string
}

// viewOf returns what a node shows of a session between two records. It retries if a
// record or a snapshot is written in the meantime.
func viewOf(t *testing.T, c *client.Client, id string) view {
	t.Helper()
	for {
		v := viewOnce(t, c, id)
		info, err := c.Info(harness.Timeout(t), id)
		if err != nil {
			t.Fatal(err)
		}
		if info.Log.Cursor == v.Cursor {
			return v
		}
	}
}

func viewOnce(t *testing.T, c *client.Client, id string) view {
	t.Helper()
	ctx := harness.Timeout(t)
	info, err := c.Info(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := c.Tree(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	built, err := c.Context(ctx, id, client.View{})
	if err != nil {
		t.Fatal(err)
	}
	return view{Cursor: info.Log.Cursor, Entries: info.EntryCount, Info: viaJSON(t, info), Tree: tree, Context: string(built), Export: string(harness.Export(t, c, id))}
}

// sameEverywhere fails the test unless every node shows the same session, and returns
// it.
func sameEverywhere(t *testing.T, nodes []*harness.Node, id string) view {
	t.Helper()
	first := viewOf(t, nodes[0].Client(), id)
	for i, n := range nodes[1:] {
		v := viewOf(t, n.Client(), id)
		for v.Cursor != first.Cursor { // another record was written in between
			first, v = viewOf(t, nodes[0].Client(), id), viewOf(t, n.Client(), id)
		}
		sameBytes(t, fmt.Sprintf("export through node %d", i+2), []byte(v.Export), []byte(first.Export))
		v.Export = first.Export
		if d := cmp.Diff(first, v); d != "" {
			t.Errorf("node %d differs (-node 1):\n%.3000s", i+2, d)
		}
	}
	return first
}

// sameSnapshot makes a snapshot through the first node, and fails the test unless
// every node returns a byte-identical snapshot under the same key.
func sameSnapshot(t *testing.T, nodes []*harness.Node, id string) api.Snapshot {
	t.Helper()
	made, err := nodes[0].Client().Checkpoint(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for i, n := range nodes {
		again, err := n.Client().Checkpoint(harness.Timeout(t), id)
		if err != nil {
			t.Fatal(err)
		}
		if again != made {
			t.Errorf("node %d names another snapshot: %+v, want %+v", i+1, again, made)
		}
		plain, object, err := n.Client().Snapshot(harness.Timeout(t), id)
		if err != nil {
			t.Fatal(err)
		}
		if object != made.Object {
			t.Errorf("node %d gives object %s, want %s", i+1, object, made.Object)
		}
		if i == 0 {
			first = plain
		}
		sameBytes(t, fmt.Sprintf("snapshot through node %d", i+1), plain, first)
	}
	if d := core.DigestOf(first); d != made.SHA256 || int64(len(first)) != made.Size {
		t.Errorf("the snapshot has %d bytes, %s; named were %d, %s", len(first), d, made.Size, made.SHA256)
	}
	return made
}

// viaJSON returns v as decoded JSON, with numbers as float64.
func viaJSON(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, b)
}

func parsed(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in %.500q", err, b)
	}
	return v
}
