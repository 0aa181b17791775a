package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// FLEET-20, FLEET-21: a fork, a merge of two heads and a merge of two sessions keep
// their lineage across restarts of the node. In another log, the files keep as much of
// it as their format can represent.
func TestLineageSurvivesKill(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	file := harness.NewFile(t, harness.Shape{Turns: 10, Images: 2})
	host.Do(t, "import", file.Save(t, host.Dir))
	said := func(id, words string, more ...string) {
		t.Helper()
		if r := host.Feed(t, harness.Message("user", words), append([]string{"append", id}, more...)...); r.Code != 0 {
			t.Fatal(r)
		}
	}
	made := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(host.Do(t, args...))
	}
	middle := file.IDs[len(file.IDs)/2]
	fork := made("fork", file.ID, "--at", middle)
	said(fork, "what the fork says")
	said(file.ID, "what main says")
	host.Do(t, "move-head", file.ID, "--at", middle, "--head", "side")
	said(file.ID, "what the side says", "--head", "side")
	merge := made("merge", file.ID+"@side", fork)
	helper := made("new", "--parent", merge, "--kind", "subagent")

	context := host.Do(t, "model-input", merge, "-o", "json")
	for words, want := range map[string]int{"what the side says": 1, "what the fork says": 1, "what main says": 0} {
		if n := strings.Count(context, words); n != want {
			t.Errorf("the merged context says %q %d times, want %d", words, n, want)
		}
	}
	intact(t, node.Client(), merge)

	drawn := host.Do(t, "lineage", merge)
	rows := host.Do(t, "lineage", "--jsonl")
	node.Kill()
	node.Start(t)
	host.URL = node.URL
	if d := cmp.Diff(drawn, host.Do(t, "lineage", merge)); d != "" {
		t.Errorf("the graph after the node was killed:\n%s", d)
	}
	if d := cmp.Diff(rows, host.Do(t, "lineage", "--jsonl")); d != "" || strings.Count(rows, "\n") != 4 {
		t.Errorf("exported after the node was killed:\n%s", d)
	}

	elsewhere := harness.NewHost(t, harness.StartNode(t))
	for _, id := range []string{helper, merge, fork, file.ID} { // children come first
		path := host.Path(id + ".jsonl")
		host.Do(t, "export", id, "--out", path, "--force")
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		elsewhere.Do(t, "import", path)
	}
	var there api.Lineage
	elsewhere.JSON(t, &there, "lineage", merge)
	got := map[core.SessionID]string{}
	for _, n := range there.Sessions {
		for _, p := range n.Parents {
			got[n.ID] += string(p.Session) + " "
		}
	}
	want := map[core.SessionID]string{
		core.SessionID(merge): file.ID + " ", core.SessionID(helper): merge + " ", // a header names one
	}
	if d := cmp.Diff(want, got); d != "" || there.Problem != "" {
		t.Errorf("in another log: %s\n%s", there.Problem, d)
	}
}
