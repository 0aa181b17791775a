package e2e_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The node is killed, a host appends on with a journal, the node comes back, and
// another host is faster: both histories are there.
func TestAppendsGoOnWithAJournalWhileTheNodeIsDead(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	file := harness.NewFile(t, harness.Shape{Turns: 3})
	id := importFile(t, node.Client(), file)
	host := harness.NewHost(t, node)
	dir := host.Path("journal")
	say := func(text string) harness.Result {
		return host.Sessctl(t, "append", "--journal", dir, "--kind", "message", "--text", text, id)
	}
	ok := func(r harness.Result, kept bool) {
		t.Helper()
		if r.Code != 0 || strings.Contains(r.Err, "not yet in the log") != kept {
			t.Fatalf("exit %d, want 0 and kept %v:\n%s%s", r.Code, kept, r.Out, r.Err)
		}
	}
	there := func(texts ...string) {
		t.Helper()
		export := exportOf(t, node.Client(), id)
		for _, text := range texts {
			if n := bytes.Count(export, []byte(`"`+text+`"`)); n != 1 {
				t.Errorf("%s is there %d times", text, n)
			}
		}
		intact(t, node.Client(), id)
	}
	ok(say("said-0"), false)
	node.Kill()
	for i := range 3 {
		ok(say(fmt.Sprintf("kept-%d", i)), true)
	}
	if r := host.Sessctl(t, "journal", "send", "--journal", dir); r.Code != 7 {
		t.Errorf("send without a node: exit %d\n%s", r.Code, r.Err)
	}
	if out := host.Do(t, "journal", "ls", "--journal", dir); !strings.Contains(out, "3 lines in 3 steps") {
		t.Errorf("it lists %s", out)
	}
	node.Start(t)
	ok(say("said-1"), false) // which sends what waits first
	there("said-0", "kept-0", "kept-1", "kept-2", "said-1")

	node.Kill()
	ok(say("apart-0"), true)
	ok(say("apart-1"), true)
	node.Start(t)
	_, err := node.Client().Append(harness.Timeout(t), id, []byte(`{"type":"message","message":{"role":"user","content":"another"}}`), api.AppendOptions{Key: "other"})
	if err != nil {
		t.Fatal(err)
	}
	out := host.Do(t, "journal", "send", "--journal", dir)
	if !strings.Contains(out, "on head offline-") {
		t.Errorf("it says %s", out)
	}
	there("apart-0", "apart-1", "another")
	info, err := node.Client().Info(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Log.Heads) != 2 || info.Log.Heads[core.MainHead] == nil {
		t.Errorf("heads are %v", info.Log.Heads)
	}
	if out := host.Do(t, "journal", "ls", "--journal", dir); !strings.Contains(out, "nothing waits") {
		t.Errorf("it lists %s", out)
	}
}

// A node that hangs is waited for once, and what is given then is kept, however
// little time is left and however many ask at once; what is refused comes back.
func TestAJournalLosesNothingThatCameThroughAPipe(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	id := importFile(t, node.Client(), harness.NewFile(t, harness.Shape{Turns: 3}))
	host := harness.NewHost(t, node)
	dir := host.Path("a journal")
	said := func(text string) string { return harness.Message("user", text) + "\n" }
	if r := host.Feed(t, said("said-0"), "append", "--journal", dir, id); r.Code != 0 {
		t.Fatal(r)
	}

	node.Pause()
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			r := host.Feed(t, said(fmt.Sprintf("kept-%d", i)), "append", "--journal", dir, "--timeout", "1s", id)
			if r.Code != 0 || !strings.Contains(r.Err, "kept in the journal") || !strings.Contains(r.Err, "--journal '"+dir+"'") {
				t.Errorf("append %d while the node hangs: %s", i, r)
			}
		})
	}
	all.Wait()
	node.Continue()
	host.Do(t, "journal", "send", "--journal", dir)
	export := exportOf(t, node.Client(), id)
	for i := range 6 {
		if n := bytes.Count(export, fmt.Appendf(nil, `"kept-%d"`, i)); n != 1 {
			t.Errorf("kept-%d is there %d times", i, n)
		}
	}

	harness.NewHost(t, node).Do(t, "claim", id)
	refused := said("refused")
	if r := host.Feed(t, refused, "append", "--journal", dir, id); r.Code != 6 || r.Out != refused {
		t.Errorf("a refused append gave back %s", r)
	}
	if out := host.Do(t, "journal", "ls", "--journal", dir); !strings.Contains(out, "nothing waits") {
		t.Errorf("what was refused waits: %s", out)
	}
}

// What cannot land is named to whoever would have more wait behind it.
func TestNothingIsKeptBehindWhatCannotLand(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	id := importFile(t, node.Client(), harness.NewFile(t, harness.Shape{Turns: 3}))
	host := harness.NewHost(t, node)
	dir := host.Path("journal")
	say := func(text string) harness.Result {
		return host.Feed(t, harness.Message("user", text)+"\n", "append", "--journal", dir, id)
	}
	say("said-0")
	node.Kill()
	if r := say("waits"); r.Code != 0 {
		t.Fatal(r)
	}
	node.Start(t)
	host.Do(t, "rm", id)
	if r := say("more"); r.Code != 9 || !strings.Contains(r.Out, `"more"`) || !strings.Contains(r.Err, "cannot land") {
		t.Errorf("an append behind what cannot land: %s", r)
	}
	host.Do(t, "rm", "--undo", id)
	if r := say("more"); r.Code != 0 || !strings.Contains(r.Err, "1 line sent") {
		t.Errorf("after the session was restored: %s", r)
	}
}
