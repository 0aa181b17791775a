package convert_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/testkit"
)

const (
	made = "2026-01-02T03:04:05.000Z"
	uuid = "8e6d6c0e-0000-8000-8000-000000000001"
)

// story is a pi session in which everything is said that items can say.
const story = `{"type":"session","version":3,"id":"11111111-2222-7333-8444-555555555555","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/lab"}
{"type":"model_change","id":"m1","parentId":null,"timestamp":"2026-01-02T03:04:05.100Z","provider":"openai","modelId":"gpt-x"}
{"type":"thinking_level_change","id":"t1","parentId":"m1","timestamp":"2026-01-02T03:04:05.200Z","thinkingLevel":"high"}
{"type":"message","id":"u1","parentId":"t1","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":[{"type":"text","text":"look at \u2028 this"},{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}],"timestamp":1767323046000}}
{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"},{"type":"text","text":"I look"},{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls"}}],"api":"openai-completions","provider":"openai","model":"gpt-x","usage":{"input":10,"output":5,"cacheRead":1,"cacheWrite":2,"totalTokens":18,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}},"stopReason":"toolUse","timestamp":1767323047000}}
{"type":"message","id":"r1","parentId":"a1","timestamp":"2026-01-02T03:04:08.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"a\nb"},{"type":"image","data":"d29ybGQ=","mimeType":"image/jpeg"}],"isError":true,"timestamp":1767323048000}}
{"type":"usage","id":"x1","parentId":"r1","timestamp":"2026-01-02T03:04:08.500Z","kind":"k","provider":"p","model":"m","usage":{}}
{"type":"message","id":"a2","parentId":"x1","timestamp":"2026-01-02T03:04:09.000Z","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"api":"openai-completions","provider":"openai","model":"gpt-y","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1767323049000}}
{"type":"compaction","id":"k1","parentId":"a2","timestamp":"2026-01-02T03:04:10.000Z","summary":"they looked","firstKeptEntryId":"x1","tokensBefore":123}
{"type":"label","id":"l1","parentId":"k1","timestamp":"2026-01-02T03:04:11.000Z","targetId":"u1","label":"start"}
{"type":"session_info","id":"n1","parentId":"l1","timestamp":"2026-01-02T03:04:12.000Z","name":"A look"}
{"type":"custom","customType":"ext","data":{"n":2},"id":"e1","parentId":"n1","timestamp":"2026-01-02T03:04:13.000Z"}
{"type":"custom_message","customType":"ext","content":"by the way","display":false,"id":"e2","parentId":"e1","timestamp":"2026-01-02T03:04:14.000Z"}
{"type":"branch_summary","id":"b1","parentId":"u1","timestamp":"2026-01-02T03:04:15.000Z","fromId":"e2","summary":"another way was tried"}
{"type":"message","id":"u2","parentId":"b1","timestamp":"2026-01-02T03:04:16.000Z","message":{"role":"user","content":"again","timestamp":1767323056000}}
`

func read(t *testing.T, data string) (*core.File, core.Dialect) {
	t.Helper()
	return readAs(t, "", data)
}

func readAs(t *testing.T, name, data string) (*core.File, core.Dialect) {
	t.Helper()
	f, d, err := dialect.Read(name, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return f, d
}

func to(t *testing.T, name string, f *core.File, from core.Dialect, leaf core.Leaf) convert.Result {
	t.Helper()
	d, err := dialect.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	res, err := convert.Convert(convert.Request{From: from, To: d, Header: f.Header, Entries: f.Entries, Leaf: leaf, ID: uuid, Time: made})
	if err != nil {
		t.Fatalf("to %s: %v", name, err)
	}
	return res
}

// says is what the items of a path say, without what few agents have.
func says(d core.Dialect, es []core.Entry, leaf core.Leaf) []string {
	path, _ := d.Path(es, leaf)
	var out []string
	for _, e := range path {
		for _, it := range d.Read(e) {
			switch it.Kind {
			case item.Message, item.Note:
				for _, b := range it.Blocks {
					out = append(out, blockText(b)...)
				}
			case item.Compaction, item.Branch:
				out = append(out, string(it.Kind)+": "+it.Text)
			}
		}
	}
	return out
}

func blockText(b item.Block) []string {
	if b.Hidden {
		return nil // not all have a place for it
	}
	switch b.Kind {
	case item.BlockText, item.BlockThinking:
		return []string{string(b.Kind) + ": " + b.Text}
	case item.BlockImage:
		return []string{"image: " + b.MIME + " " + b.Data}
	case item.BlockCall:
		args := map[string]any{} // what is no object only OpenRath has
		_ = json.Unmarshal(b.Args, &args)
		return []string{fmt.Sprintf("call: %s %s %v", b.ID, b.Name, args)}
	}
	out := []string{fmt.Sprintf("result: %s failed %v", b.ID, b.Failed)}
	for _, in := range b.Blocks {
		out = append(out, blockText(in)...)
	}
	return out
}

// isTree reports whether a conversion to d keeps all branches.
func isTree(d core.Dialect) bool {
	_, several := d.(bundle.Bundler)
	return !several && !d.Linear()
}

// trees are the dialects whose sessions are trees.
func trees() []string {
	var names []string
	for name, d := range dialect.All() {
		if isTree(d) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestConvertBetweenTreesLosesNothing(t *testing.T) {
	t.Parallel()
	f, pi := read(t, story)
	for _, name := range trees() {
		if name == pi.Name() {
			continue
		}
		for _, leaf := range []string{"u2", "e2", "k1", "r1"} {
			t.Run(name+" at "+leaf, func(t *testing.T) {
				t.Parallel()
				res := to(t, name, f, pi, core.LeafAt(leaf))
				d := dialect.All()[name]
				if diff := cmp.Diff(says(pi, f.Entries, core.LeafAt(leaf)), says(d, res.Entries, res.Leaf)); diff != "" {
					t.Error(diff)
				}
				wantSound(t, d, res)
			})
		}
	}
}

// wantSound requires the result to be a file that d reads completely and continues
// at the result's leaf.
func wantSound(t *testing.T, d core.Dialect, res convert.Result) {
	t.Helper()
	file := core.Lines(d.Layout(res.Header, res.Entries))
	back, err := d.File(file)
	if err != nil {
		t.Fatalf("%s does not read it: %v\n%s", d.Name(), err, file)
	}
	if d.Name() == "codex" || d.Name() == "opencode" { // their files have no ids of entries
		wantSameConversation(t, d, back, res)
		return
	}
	inTree := slices.DeleteFunc(slices.Clone(back.Entries), func(e core.Entry) bool { return e.Aside })
	made := slices.DeleteFunc(slices.Clone(res.Entries), func(e core.Entry) bool { return e.Aside })
	if !back.Exact || len(inTree) != len(made) {
		t.Errorf("%s reads it otherwise: %d entries of %d, skipped %v", d.Name(), len(inTree), len(made), back.Skipped)
	}
	known := map[string]bool{"": true}
	for _, e := range res.Entries {
		if e.ID == "" || known[e.ID] || !known[e.Parent] {
			t.Errorf("entry %q behind %q: %s", e.ID, e.Parent, e.Line)
		}
		known[e.ID] = true
	}
	ctx, err := d.Context(back.Entries, res.Leaf)
	if err != nil || !json.Valid(ctx) {
		t.Errorf("context: %v", err)
	}
	if at := d.Leaf(back.Entries); len(back.Entries) > 0 && !sameContext(d, back.Entries, at, res.Leaf) {
		t.Errorf("the agent goes on at %v, not %v", at, res.Leaf)
	}
}

// wantSameConversation compares what the agent reads in the file with the conversion.
func wantSameConversation(t *testing.T, d core.Dialect, back *core.File, res convert.Result) {
	t.Helper()
	want, err := d.Context(res.Entries, res.Leaf)
	testkit.Must(t, err)
	got, err := d.Context(back.Entries, d.Leaf(back.Entries))
	testkit.Must(t, err)
	if !back.Exact || !bytes.Equal(want, got) {
		t.Errorf("%s reads another conversation (skipped %v):\n%s\nwant\n%s", d.Name(), back.Skipped, got, want)
	}
}

func sameContext(d core.Dialect, es []core.Entry, a, b core.Leaf) bool {
	x, _ := d.Context(es, a)
	y, _ := d.Context(es, b)
	return bytes.Equal(x, y)
}

func TestConvertKeepsNameLabelsAndKeptRange(t *testing.T) {
	t.Parallel()
	f, pi := read(t, story)
	for _, name := range trees() {
		if name == "pi" {
			continue
		}
		res := to(t, name, f, pi, core.LeafAt("e2"))
		d := dialect.All()[name]
		info, err := d.Info(res.Header, res.Entries, res.Leaf)
		if err != nil || info.Name == nil || *info.Name != "A look" || info.Labels["u1"] != "start" || info.CWD != "/lab" {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		for _, e := range res.Entries {
			for _, it := range d.Read(e) {
				if it.Kind == item.Compaction && !strings.HasPrefix(it.Target, "a2") && !isModelBefore(d, res.Entries, it.Target) {
					t.Errorf("%s: the compaction keeps from %q, behind what says nothing comes a2", name, it.Target)
				}
			}
		}
		back := convert.Request{From: d, To: pi, Header: res.Header, Entries: res.Entries, Leaf: res.Leaf, ID: uuid, Time: made}
		again, err := convert.Convert(back)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(says(pi, f.Entries, core.LeafAt("e2")), says(pi, again.Entries, again.Leaf)); diff != "" {
			t.Errorf("there and back by %s: %s", name, diff)
		}
		if u, v := pi.Summary(f.Header, f.Entries).Usage, pi.Summary(again.Header, again.Entries).Usage; u != v {
			t.Errorf("usage there and back by %s: %v, was %v", name, v, u)
		}
	}
}

func isModelBefore(d core.Dialect, es []core.Entry, id string) bool {
	for _, e := range es {
		if e.ID == id {
			its := d.Read(e)
			return len(its) == 1 && its[0].Kind == item.Model
		}
	}
	return false
}

func TestLossesAreNamed(t *testing.T) {
	t.Parallel()
	f, pi := read(t, story)
	res := to(t, "omp", f, pi, core.LeafAt("e2"))
	if diff := cmp.Diff([]convert.Loss{{What: "usage entries", Count: 1}}, res.Lost); diff != "" {
		t.Error(diff)
	}
}

// Codex and opencode keep no labels, and Codex's files no name.
func TestLostNamesAndLabelsAreNamed(t *testing.T) {
	t.Parallel()
	f, pi := read(t, `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"hi"}}
{"type":"label","id":"l1","parentId":"u1","timestamp":"2026-01-02T03:04:07.000Z","targetId":"u1","label":"L"}
{"type":"session_info","id":"n1","parentId":"l1","timestamp":"2026-01-02T03:04:08.000Z","name":"N"}
`)
	for name, want := range map[string][]convert.Loss{
		"codex":    {{What: "labels, which Codex's files have no place for", Count: 1}, {What: "the name, which Codex's files have no place for", Count: 1}},
		"opencode": {{What: "labels, which opencode has no place for", Count: 1}},
	} {
		if diff := cmp.Diff(want, to(t, name, f, pi, core.LeafAt("n1")).Lost); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestConvertIsDeterministic(t *testing.T) {
	t.Parallel()
	f, pi := read(t, story)
	for name, d := range dialect.All() {
		if !convert.Converses(d) {
			continue
		}
		a, b := to(t, name, f, pi, core.Leaf{}), to(t, name, f, pi, core.Leaf{})
		if !bytes.Equal(core.Lines(a.Header.Before(a.Entries)), core.Lines(b.Header.Before(b.Entries))) {
			t.Errorf("%s: another file", name)
		}
	}
}

func TestConvertToChainKeepsWhatTheModelSees(t *testing.T) {
	t.Parallel()
	f, pi := read(t, story)
	for name, d := range dialect.All() {
		if isTree(d) || !convert.Converses(d) {
			continue
		}
		res := to(t, name, f, pi, core.LeafAt("e2"))
		all := string(core.Lines(res.Header.Before(res.Entries)))
		for _, want := range []string{"they looked", "done", "by the way"} {
			if !strings.Contains(all, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, all)
			}
		}
		for _, not := range []string{"I look", "again"} {
			if strings.Contains(all, not) {
				t.Errorf("%s has %q", name, not)
			}
		}
	}
}

func TestConvertRejectsDialectWithoutMessages(t *testing.T) {
	t.Parallel()
	f, pi := read(t, story)
	for _, d := range dialect.All() {
		_, err := convert.Convert(convert.Request{From: pi, To: d, Header: f.Header, Entries: f.Entries, ID: uuid, Time: made})
		if refused := errors.Is(err, core.ErrInvalid); refused == convert.Converses(d) {
			t.Errorf("%s: %v", d.Name(), err)
		}
	}
}

// Every real session is one of every other agent, too.
func TestCorpusConvertsToEveryDialect(t *testing.T) {
	t.Parallel()
	root := dialecttest.Corpus(t)
	n := 0
	for _, pattern := range []string{"pi/*/*.jsonl", "omp/*/*.jsonl", "operator/*.jsonl", "openrath/*.jsonl", "nova/*.json"} {
		names, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, path := range names {
			data := testkit.ReadFile(t, path)
			f, from, err := dialect.Read("", data)
			if err != nil {
				continue // a dialect that is not known yet
			}
			n++
			t.Run(strings.TrimPrefix(path, root), func(t *testing.T) {
				t.Parallel()
				for name, d := range dialect.All() {
					if name == from.Name() || !convert.Converses(d) {
						continue
					}
					res := to(t, name, f, from, from.Leaf(f.Entries))
					wantSound(t, d, res)
					if !isTree(d) {
						continue
					}
					if diff := cmp.Diff(says(from, f.Entries, from.Leaf(f.Entries)), says(d, res.Entries, res.Leaf)); diff != "" {
						t.Errorf("to %s: %s", name, diff)
					}
				}
			})
		}
	}
	if n == 0 {
		t.Error("there is no session in the corpus")
	}
}

// Summaries of omp have members that those of other agents lack.
func TestLossesOfSummariesAreNamed(t *testing.T) {
	t.Parallel()
	f, omp := readAs(t, "omp", `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"hi"}}
{"type":"branch_summary","id":"b1","parentId":"u1","timestamp":"2026-01-02T03:04:07.000Z","fromId":"u1","summary":"left","fromExtension":true}
{"type":"compaction","id":"c1","parentId":"b1","timestamp":"2026-01-02T03:04:08.000Z","summary":"all","shortSummary":"a","firstKeptEntryId":"u1","tokensBefore":9,"fromExtension":true,"preserveData":{"x":1},"warning":null}
`)
	own := []convert.Loss{{What: "preserveData of a compaction", Count: 1}, {What: "shortSummary of a compaction", Count: 1}}
	hook := convert.Loss{What: "that an extension wrote a summary", Count: 2}
	for name, mark := range map[string]string{"pi": `"fromHook":true`, "operator": `"from_hook":true`, "claude": "", "codex": "", "opencode": "", "openrath": "", "acp": ""} {
		res := to(t, name, f, omp, core.LeafAt("c1"))
		if got := strings.Count(string(core.Lines(res.Header.Before(res.Entries))), mark); mark != "" && got != 2 {
			t.Errorf("%s has %d summaries of extensions, want 2", name, got)
		}
		for _, want := range append(own, hook) {
			there := slices.Contains(res.Lost, want)
			if there != (want != hook || mark == "") {
				t.Errorf("%s: %+v: %v in %+v", name, want, there, res.Lost)
			}
		}
	}
}

func TestLostNameIsCountedOnce(t *testing.T) {
	t.Parallel()
	f, pi := read(t, `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}
{"type":"session_info","id":"n1","parentId":null,"timestamp":"2026-01-02T03:04:08.000Z","name":"N"}
`)
	if diff := cmp.Diff([]convert.Loss{{What: "names", Count: 1}}, to(t, "openrath", f, pi, core.LeafAt("n1")).Lost); diff != "" {
		t.Error(diff)
	}
}
