package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The scenario of the README.
func TestSessionIsResumedOnAnotherNode(t *testing.T) {
	t.Parallel()
	bucket := harness.StartBucket(t)
	started := harness.Took(t, "the start of three nodes")
	nodes := harness.StartCluster(t, 3, bucket)
	started()
	first, third := nodes[0], nodes[2]

	// A writer appends through the first node.
	file := harness.NewFile(t, harness.Shape{Turns: 300, Images: 12, Words: 80})
	before := harness.NewHost(t, first)
	var imported api.Imported
	before.JSON(t, &imported, "import", file.Save(t, before.Dir))
	if imported.ID != file.ID || imported.Entries != len(file.IDs) || imported.Blobs != 12 {
		t.Fatalf("import: %+v", imported)
	}
	id := file.ID
	held, err := first.Client().Claim(harness.Timeout(t), id, core.ClaimRequest{Agent: "pi", Host: "first-host", By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	mine := client.AppendOptions{Writer: held.Writer}
	for i := range 5 {
		appendText(t, first.Client(), id, fmt.Sprintf("on the first node, %d", i), mine)
	}
	written := harness.Export(t, first.Client(), id)

	// The node dies, and another client continues through the third one.
	taken := harness.Took(t, "from the kill to the first append elsewhere")
	first.Kill()
	after := harness.NewHost(t, third)
	refused := after.Sessctl(t, "claim", id)
	if refused.Code != 6 || !strings.Contains(refused.Err, "first-host") {
		t.Errorf("a claim of a head that another writer holds: %s", refused)
	}
	var resumed struct {
		Path   string      `json:"path"`
		Writer string      `json:"writer"`
		Former *core.Claim `json:"former"`
	}
	// The writer claimed a moment ago and may be active: a resume needs --take-over.
	if r := after.Sessctl(t, "resume", id, "--dir", after.Path("some", "where")); r.Code != 6 || !strings.Contains(r.Err, "--take-over") {
		t.Errorf("a resume of a head that another writer just claimed: %s", r)
	}
	after.JSON(t, &resumed, "resume", "--take-over", id, "--dir", after.Path("some", "where"), "--agent", "pi on the third")
	if resumed.Former == nil || resumed.Former.Writer != held.Writer || resumed.Former.Host != "first-host" {
		t.Errorf("resume does not name the former holder: %+v", resumed.Former)
	}
	got, err := os.ReadFile(resumed.Path)
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "the file that resume wrote", got, written)
	if r := after.Feed(t, harness.Message("user", "on the third node"), "append", id); r.Code != 0 {
		t.Fatalf("append after resume: %s", r)
	}
	taken()

	// The first node is back: all nodes show the same, and the former writer is told
	// that it is fenced.
	back := harness.Took(t, "the restart of the first node")
	first.Start(t)
	back()
	_, err = first.Client().Append(harness.Timeout(t), id, []byte(harness.Message("user", "I am back")), mine)
	fenced, ok := errors.AsType[*client.Error](err)
	if !ok || !errors.Is(err, core.ErrFenced) {
		t.Fatalf("the former writer appends: %v", err)
	}
	if h := fenced.Detail.Holder; h == nil || h.Writer != resumed.Writer || h.Agent != "pi on the third" {
		t.Errorf("the error does not name the new holder: %+v", fenced.Detail)
	}
	compared := harness.Took(t, "the comparison of all nodes and their snapshots")
	view := sameEverywhere(t, nodes, id)
	if want := string(written); !strings.HasPrefix(view.Export, want) || strings.Contains(view.Export, "I am back") {
		t.Error("the session differs from the lines of both writers")
	}
	sameContext(t, after, resumed.Path, nodes, id)
	snap := sameSnapshot(t, nodes, id)
	compared()
	t.Logf("every node shows the same: %d entries, snapshot %s", view.Entries, snap.Object)

	// Appends after the snapshot are read from the snapshot and the tail.
	again := harness.Took(t, "an append, a kill and a restart of the second node, and the comparison")
	later := client.AppendOptions{Writer: resumed.Writer}
	appendText(t, nodes[1].Client(), id, "behind the snapshot", later)
	nodes[1].Kill()
	nodes[1].Start(t)
	sameEverywhere(t, nodes, id)
	if next := sameSnapshot(t, nodes, id); next.Object == snap.Object || next.Seq <= snap.Seq {
		t.Errorf("the new snapshot is %s, the previous one %s", next.Object, snap.Object)
	}
	again()
	for _, n := range nodes {
		intact(t, n.Client(), id)
		healthy(t, n)
	}
}

// sameContext fails the test unless the file that was written for an agent has the
// context of the session at that time.
func sameContext(t *testing.T, h *harness.Host, path string, nodes []*harness.Node, id string) {
	t.Helper()
	var info api.Info
	h.JSON(t, &info, "info", path)
	if info.LeafID == nil {
		t.Fatal("the resumed file has no leaf")
	}
	want := h.Do(t, "model-input", path, "-o", "json")
	for i, n := range nodes {
		got, err := n.Client().Context(harness.Timeout(t), id, client.View{Leaf: *info.LeafID})
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != strings.TrimSpace(want) {
			t.Errorf("node %d: the context at %s differs from that of the file", i+1, *info.LeafID)
		}
	}
}

func healthy(t *testing.T, n *harness.Node) {
	t.Helper()
	s, err := n.Client().Status(harness.Timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Healthy {
		t.Errorf("node %s is unhealthy: %s", s.Node, s.Summary)
	}
}

func TestClusterKeepsAcknowledgedAppendsWhenNodesAreKilled(t *testing.T) {
	t.Parallel()
	bucket := harness.StartBucket(t)
	nodes := harness.StartCluster(t, 3, bucket)
	file := harness.NewFile(t, harness.Shape{Turns: 40, Images: 4})
	id := importFile(t, nodes[0].Client(), file)
	var turn atomic.Int64
	clients := []*client.Client{nodes[0].Client(), nodes[1].Client(), nodes[2].Client()}
	callers := gather(t, id, 6, func() *client.Client { return clients[turn.Add(1)%3] })
	for round := range often(2) {
		whole := time.Now()
		callers.await(30)
		i := rand.IntN(3)
		nodes[i].Kill()
		killed := time.Now()
		callers.await(30) // the other nodes continue
		again := time.Now()
		acked := callers.said()
		nodes[i].Start(t)
		allThere(t, harness.Export(t, nodes[i].Client(), id), acked)
		t.Logf("kill %d, of node %d: %d acknowledged; 30 more before it in %v, 30 after it in %v, all checked through it %v later",
			round+1, i+1, len(acked), killed.Sub(whole).Round(time.Millisecond), again.Sub(killed).Round(time.Millisecond), time.Since(again).Round(time.Millisecond))
	}
	callers.leave()
	view := sameEverywhere(t, nodes, id)
	acked := callers.said()
	allThere(t, []byte(view.Export), acked)
	if have, want := view.Entries, len(file.IDs)+len(acked); have != want {
		t.Errorf("%d entries, want %d", have, want)
	}
	sameSnapshot(t, nodes, id)
	intact(t, nodes[1].Client(), id)
	t.Logf("%d appends, %d requests without an answer", len(acked), callers.Unanswered.Load())
}

func TestObjectStoreDown(t *testing.T) {
	t.Parallel()
	bucket := harness.StartBucket(t)
	node := harness.StartNode(t, bucket.Args()...)
	cl := node.Client()
	file := harness.NewFile(t, harness.Shape{Turns: 20, Images: 3})
	id := importFile(t, cl, file)
	host := harness.NewHost(t, node)

	bucket.Stop()
	info, err := cl.Info(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	refusedIn := harness.Took(t, "the refusal of an image")
	image := harness.ImageMessage(1, "look at this", 5000)
	r := host.Feed(t, image, "append", id, "--key", "the image")
	refusedIn()
	if r.Code != 7 || !strings.Contains(r.Err, bucket.Endpoint) && !strings.Contains(r.Err, "blob store") {
		t.Errorf("an append with an image, without the object store: %s", r)
	}
	_, err = cl.Append(harness.Timeout(t), id, []byte(image), client.AppendOptions{}) // no idempotency key: not retried
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Detail.Status != 503 || e.Detail.Code != "unavailable" {
		t.Errorf("an append with an image, without the object store: %v", err)
	} else {
		t.Logf("told: %s", e.Detail.Detail)
	}
	now, err := cl.Info(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	if now.Log.Cursor != info.Log.Cursor {
		t.Errorf("the session has moved from %s to %s", info.Log.Cursor, now.Log.Cursor)
	}
	without := harness.Took(t, "ten appends without images")
	for i := range 10 {
		appendText(t, cl, id, fmt.Sprintf("without an image %d", i), client.AppendOptions{})
	}
	without()
	if _, err := cl.Tree(harness.Timeout(t), id); err != nil {
		t.Errorf("the tree, without the object store: %v", err)
	}
	big := harness.Generate(2, harness.Shape{Turns: 300, Words: 80})
	if _, err := cl.Import(harness.Timeout(t), bytes.NewReader(big.Bytes), -1, client.ImportOptions{}); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("an import that is too large for a record, without the object store: %v", err)
	}
	if _, err := cl.Info(harness.Timeout(t), big.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("the session exists: %v", err)
	}

	if err := bucket.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := host.Feed(t, image, "append", id, "--key", "the image"); r.Code != 0 {
		t.Fatalf("the same append, with the object store back: %s", r)
	}
	if r := host.Feed(t, image, "append", id, "--key", "the image", "-o", "json"); r.Code != 0 || !storedNothing(t, r.Out) {
		t.Errorf("the same append again: %s", r)
	}
	importFile(t, cl, big)
	sameSnapshot(t, []*harness.Node{node}, id)
	intact(t, cl, id)
	sameBytes(t, "the file, and what was appended", harness.Export(t, cl, id)[:len(file.Bytes)], file.Bytes)
	if !strings.Contains(string(harness.Export(t, cl, id)), imageData(t, image)) {
		t.Error("the image is missing from the export")
	}
	healthy(t, node)
}

func storedNothing(t *testing.T, out string) bool {
	t.Helper()
	var done core.Receipt
	if err := json.Unmarshal([]byte(out), &done); err != nil {
		t.Fatal(err)
	}
	return done.Stored == 0 && len(done.IDs) == 1
}

// imageData returns the base64 data in a line of harness.ImageMessage.
func imageData(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		Message struct {
			Content []struct {
				Data string `json:"data"`
			} `json:"content"`
		} `json:"message"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	return m.Message.Content[1].Data
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
