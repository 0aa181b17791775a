package operator_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/internal/testkit"
)

// The test in this file holds the dialect to what Operator's own code said of
// files that are not part of the project. Beside each file there are:
//
//   - .loaded.json, what a SessionManager holds once it has read the file.
//     Its header, session_id, leaf_id, name and labels are those of Info, its
//     channel is Channel's, and its entries are the lines of File, in order.
//   - .tree.json, what get_tree returns: nodes inside of nodes, with the label
//     or null. Tree returns the same nodes in a list, with a depth.
//   - .context.json, what build_session_context returns at the leaf. Context
//     gives that object.

// loaded is what Operator holds of a file.
type loaded struct {
	SessionID string            `json:"session_id"`
	LeafID    *string           `json:"leaf_id"`
	Header    any               `json:"header"`
	Entries   []any             `json:"entries"`
	Labels    map[string]string `json:"labels"`
	Name      *string           `json:"name"`
	Channel   *string           `json:"channel"`
}

// node is an entry in Operator's tree.
type node struct {
	ID       string  `json:"id"`
	Type     string  `json:"type"`
	Label    *string `json:"label"`
	Children []node  `json:"children"`
}

// TestCorpus: OP-01, OP-02, OP-04, OP-05, OP-06, OP-07, OP-08, OP-09, OP-11,
// OP-12, OP-13, OP-14, OP-15, OP-20, OP-25, OP-26, OP-29, OP-30, OP-31, OP-32
// on files that Operator wrote.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), "operator", "*.jsonl"))
	if len(files) == 0 {
		t.Fatal("no *.jsonl in the corpus")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			data := testkit.ReadFile(t, name)
			f, d, err := dialect.Read("", data)
			if err != nil || d.Name() != "operator" {
				t.Fatalf("read as %v, %v", d, err)
			}
			if whole := core.Lines(f.Header.Before(f.Entries)); !f.Exact || !bytes.Equal(whole, data) {
				t.Errorf("exact %v, rendered other bytes", f.Exact)
			}
			compareLoaded(t, f, name)
			compareTree(t, f, name)
			compareContext(t, f, name)
			t.Logf("%d entries", len(f.Entries))
		})
	}
}

func compareLoaded(t *testing.T, f *core.File, name string) {
	t.Helper()
	var want loaded
	dialecttest.ReadJSON(t, name+".loaded.json", &want)
	info, err := operator.Dialect{}.Info(f.Header, f.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	got := loaded{SessionID: info.SessionID, LeafID: info.LeafID, Labels: info.Labels, Name: info.Name, Header: dialecttest.Parsed(t, info.Header)}
	for _, e := range f.Entries {
		if err := operator.Check(e.Line); err != nil {
			t.Error(err)
		}
		got.Entries = append(got.Entries, dialecttest.Parsed(t, e.Line))
	}
	channel, err := operator.Channel(f.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	if channel != "" {
		got.Channel = &channel
	}
	dialecttest.Compare(t, "loaded", got, want)
	if info.EntryCount != len(want.Entries) {
		t.Errorf("%d entries counted", info.EntryCount)
	}
	if leaf, _ := (operator.Dialect{}).Leaf(f.Entries).ID(); want.LeafID == nil || leaf != *want.LeafID {
		t.Errorf("leaf %q", leaf)
	}
}

func compareTree(t *testing.T, f *core.File, name string) {
	t.Helper()
	var roots []node
	dialecttest.ReadJSON(t, name+".tree.json", &roots)
	var want []display.TreeNode
	var flatten func(nodes []node, depth int)
	flatten = func(nodes []node, depth int) {
		for _, n := range nodes {
			want = append(want, display.TreeNode{ID: n.ID, Type: n.Type, Depth: depth, Label: n.Label})
			flatten(n.Children, depth+1)
		}
	}
	flatten(roots, 0)
	got := operator.Dialect{}.Tree(f.Entries)
	for i := range got {
		got[i].LabelTimestamp = nil // Operator has it, the file beside does not
	}
	dialecttest.Compare(t, "tree", got, want)
}

func compareContext(t *testing.T, f *core.File, name string) {
	t.Helper()
	var want any
	dialecttest.ReadJSON(t, name+".context.json", &want)
	for _, leaf := range []core.Leaf{{}, operator.Dialect{}.Leaf(f.Entries)} {
		context, err := operator.Dialect{}.Context(f.Entries, leaf)
		if err != nil {
			t.Fatal(err)
		}
		dialecttest.Compare(t, "context", dialecttest.Parsed(t, context), want)
	}
}
