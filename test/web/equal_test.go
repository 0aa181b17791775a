package web_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/testkit"
)

// A talk writes a random conversation, in which each text is a different word.
type talk struct {
	*rand.Rand
	words int
}

func (k *talk) text() item.Block {
	k.words++
	return item.Block{Kind: item.BlockText, Text: fmt.Sprintf("word%dend", k.words)}
}

// turn returns a prompt, maybe a call of a tool and its result, and an answer.
func (k *talk) turn() []item.Item {
	said := func(role item.Role, stop item.Stop, bs ...item.Block) item.Item {
		return item.Item{Kind: item.Message, Role: role, Blocks: bs, Stop: stop, Provider: "p", Model: "m"}
	}
	all := []item.Item{said(item.RoleUser, "", k.text())}
	if k.IntN(2) == 0 {
		id := fmt.Sprintf("call_%d", k.words)
		call := item.Block{Kind: item.BlockCall, ID: id, Name: "bash", Args: fmt.Appendf(nil, `{"command":"echo %s"}`, k.text().Text)}
		all = append(all, said(item.RoleAssistant, item.StopTools, k.text(), call),
			said(item.RoleTool, "", item.Block{Kind: item.BlockResult, ID: id, Name: "bash", Blocks: []item.Block{k.text()}}))
	}
	return append(all, said(item.RoleAssistant, item.StopEnd, k.text()))
}

var word = regexp.MustCompile(`word\d+end`)

// For random sessions of every dialect whose lines are messages, the page has the texts that model-input prints,
// in that order and once, and its tree has those that tree prints.
func TestPageShowsWhatModelsGet(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	for name, d := range dialect.All() {
		if line, _ := d.Write((&talk{Rand: rand.New(rand.NewPCG(1, 1))}).turn()[0]); line == nil {
			continue // its lines are no messages
		}
		seed := rand.Uint64()
		k := &talk{Rand: rand.New(rand.NewPCG(seed, 1))}
		id, leaves := n.tell(t, k, name, d)
		t.Logf("%s: seed %d, %d words, %d leaves", name, seed, k.words, len(leaves))
		for _, leaf := range leaves {
			context, err := n.Context(t.Context(), id, client.View{Leaf: leaf})
			testkit.Must(t, err)
			want := word.FindAllString(string(context), -1)
			b.visit(t, n.Base+"/sessions/"+id+"?leaf="+url.QueryEscape(leaf))
			got := word.FindAllString(eval[string](t, b, `[...document.querySelectorAll("#transcript .text, #transcript pre")].map((e) => e.textContent).join("\n")`), -1)
			if len(want) == 0 {
				t.Errorf("%s: the context of %s has no words: %s", name, leaf, context)
			}
			testkit.Equal(t, name+": words of the transcript", distinct(want), got)
		}
		nodes, err := n.Tree(t.Context(), id)
		testkit.Must(t, err)
		var want []string
		for _, node := range nodes {
			want = append(want, node.ID)
		}
		b.visit(t, n.Base+"/sessions/"+id+"/tree")
		got := eval[[]string](t, b, `[...document.querySelectorAll(".tree a[href*='leaf=']")].map((a) => new URL(a.href).searchParams.get("leaf"))`)
		testkit.Equal(t, name+": entries of the tree", want, got)
	}
	b.wantQuiet(t)
}

// distinct returns the words without repetitions.
func distinct(words []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(words, func(w string) bool {
		defer func() { seen[w] = true }()
		return seen[w]
	})
}

// tell writes a random conversation, with a second branch if the dialect has branches,
// and returns the session and its leaves.
func (n testNode) tell(t *testing.T, k *talk, name string, d core.Dialect) (id string, leaves []string) {
	t.Helper()
	made, err := n.Create(t.Context(), api.Create{Dialect: name, CWD: "/home/dev/site"})
	testkit.Must(t, err)
	id = string(made.ID)
	var all []string
	write := func(turns int) {
		for range turns {
			for _, it := range k.turn() {
				line, _ := d.Write(it)
				if line == nil {
					t.Fatalf("%s cannot say %+v", name, it)
				}
				got, err := n.Append(t.Context(), id, append(line, '\n'), client.AppendOptions{})
				testkit.Must(t, err)
				all = append(all, got.IDs[len(got.IDs)-1])
			}
		}
	}
	write(3 + k.IntN(4))
	leaves = []string{all[len(all)-1]}
	if !d.Linear() {
		_, err := n.Move(t.Context(), id, core.MainHead, api.MoveRequest{Leaf: core.LeafAt(all[0])}, "")
		testkit.Must(t, err)
		write(2)
		leaves = append(leaves, all[len(all)-1])
	}
	return id, leaves
}
