package convert_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/image"
)

const piHead = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/lab"}` + "\n"

// A time that no clock shows is no reason to refuse a session.
func TestConvertInvalidTimes(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{"yesterday", "2026-01-02T03:04:05", "2026-01-02", "", "99999-01-01T00:00:00Z", "1767323046000"} {
		f, pi := read(t, piHead+`{"type":"message","id":"u1","parentId":null,"timestamp":"`+odd+`","message":{"role":"user","content":"hi"}}`+"\n"+
			`{"type":"thinking_level_change","id":"t1","parentId":"u1","timestamp":"`+odd+`","thinkingLevel":"low"}`+"\n"+
			`{"type":"model_change","id":"t2","parentId":"t1","timestamp":"`+odd+`","provider":"a","modelId":"b"}`+"\n"+
			`{"type":"session_info","id":"t3","parentId":"t2","timestamp":"`+odd+`","name":"n"}`+"\n")
		for _, name := range trees() {
			d := dialect.All()[name]
			for _, at := range []string{made, odd} {
				res, err := convert.Convert(convert.Request{From: pi, To: d, Header: f.Header, Entries: f.Entries, Leaf: core.LeafAt("t3"), ID: uuid, Time: at})
				if err != nil {
					t.Errorf("%s, %q, made %q: %v", name, odd, at, err)
					continue
				}
				wantSound(t, d, res)
				for _, e := range res.Entries {
					if name != "pi" && e.Type == "message" && strings.Count(string(e.Line), `"timestamp":`) != 2 {
						t.Errorf("%s, %q: a message without a time: %s", name, odd, e.Line)
					}
				}
			}
		}
	}
}

func TestConvertKeptRangeOnSecondBranch(t *testing.T) {
	t.Parallel()
	f, pi := read(t, piHead+
		`{"type":"message","id":"u0","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"zero"}}
{"type":"usage","id":"x","parentId":"u0","timestamp":"2026-01-02T03:04:05.000Z","kind":"k"}
{"type":"message","id":"a","parentId":"x","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"left"}}
{"type":"message","id":"b","parentId":"x","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"right"}}
{"type":"compaction","id":"k","parentId":"b","timestamp":"2026-01-02T03:04:05.000Z","summary":"sum","firstKeptEntryId":"x","tokensBefore":1}
`)
	for _, name := range trees() {
		res := to(t, name, f, pi, core.LeafAt("k"))
		d := dialect.All()[name]
		ctx, _ := d.Context(res.Entries, res.Leaf)
		if !strings.Contains(string(ctx), "right") || strings.Contains(string(ctx), "zero") {
			t.Errorf("%s: %s", name, ctx)
		}
	}
}

func TestConvertKeepsModelOfRoleApart(t *testing.T) {
	t.Parallel()
	f, omp := read(t, `{"type":"title","v":1,"title":"","updatedAt":"2026-01-02T03:04:05.000Z","pad":"`+strings.Repeat(" ", 256-1-len(`{"type":"title","v":1,"title":"","updatedAt":"2026-01-02T03:04:05.000Z","pad":""}`))+"\"}\n"+piHead+
		`{"type":"model_change","id":"m","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","model":"p/big","resolvedModelIsFallback":false}
{"type":"model_change","id":"n","parentId":"m","timestamp":"2026-01-02T03:04:05.000Z","model":"p/small","role":"smol","resolvedModelIsFallback":false}
`)
	for _, name := range []string{"pi", "operator"} {
		res := to(t, name, f, omp, core.LeafAt("n"))
		ctx, _ := dialect.All()[name].Context(res.Entries, res.Leaf)
		if !strings.Contains(string(ctx), `"big"`) {
			t.Errorf("%s: %s", name, ctx)
		}
	}
}

func TestConvertNamesToolOfResults(t *testing.T) {
	t.Parallel()
	f, op := read(t, `{"type":"session","version":3,"id":"s","timestamp":1767312000.8,"cwd":"/lab"}
{"id":"a","timestamp":1767312001.1,"type":"message","message":{"contents":[{"type":"tool_call","id":"c1","name":"ls","args":{"p":1},"metadata":{}}],"id":"i","timestamp":1767312001.1,"role":"assistant","stop_reason":"tool_calls"}}
{"id":"r","timestamp":1767312001.2,"parent_id":"a","type":"message","message":{"contents":[{"type":"tool_result","id":"c1","content":"out"},{"type":"text","content":"t"},{"type":"image","images":["iVBORw0KGgo="]}],"id":"i","timestamp":1767312001.1,"role":"tool"}}
`)
	for _, name := range []string{"pi", "omp"} {
		res := to(t, name, f, op, core.Leaf{})
		all := string(core.Lines(res.Header.Before(res.Entries)))
		if !strings.Contains(all, `"toolName":"ls"`) {
			t.Errorf("%s: %s", name, all)
		}
		if !strings.Contains(all, `"mimeType":"image/png"`) {
			t.Errorf("%s: no MIME: %s", name, all)
		}
	}
}

func TestLossesAreBounded(t *testing.T) {
	t.Parallel()
	f, _ := read(t, piHead+`{"type":"thinking_level_change","id":"t1","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","thinkingLevel":"`+strings.Repeat("x", 100000)+`"}`+"\n")
	omp := dialect.All()["omp"]
	for _, name := range trees() {
		res := to(t, name, f, omp, core.LeafAt("t1"))
		b, _ := json.Marshal(res.Lost)
		if len(b) > 1000 {
			t.Errorf("%s: %d bytes", name, len(b))
		}
	}
}

func TestWriteNamesInvalidArgumentsAndDetails(t *testing.T) {
	t.Parallel()
	f, pi := read(t, piHead+
		`{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":"raw"}]}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"n","content":[],"details":[1]}}
`)
	res := to(t, "operator", f, pi, core.Leaf{})
	if len(res.Lost) < 2 {
		t.Errorf("lost %v", res.Lost)
	}
}

func TestLeafDoesNotAffectNameAndLabels(t *testing.T) {
	t.Parallel()
	f, pi := read(t, piHead+
		`{"type":"message","id":"u","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"zero"}}
{"type":"session_info","id":"n1","parentId":"u","timestamp":"2026-01-02T03:04:06.000Z","name":"old"}
{"type":"session_info","id":"n2","parentId":"u","timestamp":"2026-01-02T03:04:07.000Z","name":"new"}
{"type":"label","id":"l1","parentId":"u","timestamp":"2026-01-02T03:04:08.000Z","targetId":"u","label":"old"}
{"type":"label","id":"l2","parentId":"u","timestamp":"2026-01-02T03:04:09.000Z","targetId":"u","label":"new"}
`)
	for _, name := range trees() {
		if name == "pi" {
			continue
		}
		for _, leaf := range []string{"n1", "l1", "u", "l2", "n2"} {
			res := to(t, name, f, pi, core.LeafAt(leaf))
			d := dialect.All()[name]
			back, _ := d.File(core.Lines(d.Layout(res.Header, res.Entries)))
			info, _ := d.Info(back.Header, back.Entries, d.Leaf(back.Entries))
			if info.Labels["u"] != "new" || info.Name == nil || *info.Name != "new" {
				t.Errorf("%s at %s: %v %v", name, leaf, *info.Name, info.Labels)
			}
		}
	}
}

// Providers refuse a thought that they hid when it comes back as words.
func TestHiddenThoughtsStayHidden(t *testing.T) {
	t.Parallel()
	f, pi := read(t, piHead+`{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"seal","redacted":true},{"type":"text","text":"hi"}]}}`+"\n")
	res := to(t, "omp", f, pi, core.Leaf{})
	if got := string(res.Entries[0].Line); !strings.Contains(got, `{"type":"redactedThinking","data":"seal"}`) {
		t.Error(got)
	}
	omp := dialect.All()["omp"]
	back, err := convert.Convert(convert.Request{From: omp, To: pi, Header: res.Header, Entries: res.Entries, ID: uuid, Time: made})
	if err != nil || !strings.Contains(string(back.Entries[0].Line), `"thinkingSignature":"seal","redacted":true}`) {
		t.Errorf("%s, %v", back.Entries[0].Line, err)
	}
	if res := to(t, "operator", f, pi, core.Leaf{}); len(res.Lost) == 0 || strings.Contains(string(res.Entries[0].Line), "seal") {
		t.Errorf("%s, lost %v", res.Entries[0].Line, res.Lost)
	}
}

// Images that the log keeps elsewhere come back in every agent's own shape.
func TestInlineAfterImportImageRefs(t *testing.T) {
	t.Parallel()
	data := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("picture "), 400))
	line := `{"type":"message","id":"u","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":[{"type":"image","data":"` + data + `","mimeType":"image/png"}]}}`
	f, pi := read(t, piHead+line+"\n")
	kept, blobs := image.Externalize(f.Entries[0].Line)
	if len(blobs) != 1 {
		t.Fatalf("%d blobs", len(blobs))
	}
	get := func(core.Digest) ([]byte, error) { return blobs[0].Bytes, nil }
	f.Entries[0].Line = kept
	for _, name := range trees() {
		res := to(t, name, f, pi, core.Leaf{})
		whole, err := image.Inline(res.Entries[0].Line, get)
		if err != nil || !strings.Contains(string(whole), data) || strings.Contains(string(whole), "blob:") {
			t.Errorf("%s: %v: %.300s", name, err, whole)
		}
		again, _ := image.Externalize(whole)
		if !bytes.Equal(again, res.Entries[0].Line) {
			t.Errorf("%s: kept as %s, was %s", name, again, res.Entries[0].Line)
		}
	}
}

// A random session says the same at every leaf, in every pair of trees.
func TestRandomSessionsConvertEqually(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			first, from := read(t, randomPi(rand.New(rand.NewPCG(seed, 1))))
			for _, a := range trees() {
				at := from.Leaf(first.Entries)
				one := to(t, a, first, from, at)
				da := dialect.All()[a]
				if da.Name() != from.Name() {
					wantSound(t, da, one)
				}
				if hasRing(first.Entries) {
					continue
				}
				if diff := cmp.Diff(says(from, first.Entries, at), says(da, one.Entries, one.Leaf)); diff != "" {
					t.Fatalf("to %s: %s", a, diff)
				}
				middle := &core.File{Header: one.Header, Entries: one.Entries}
				for i := 0; i < len(one.Entries); i += 7 {
					leaf := core.LeafAt(one.Entries[i].ID)
					for _, b := range trees() {
						if a == b {
							continue
						}
						two := to(t, b, middle, da, leaf)
						db := dialect.All()[b]
						wantSound(t, db, two)
						if diff := cmp.Diff(says(da, one.Entries, leaf), says(db, two.Entries, two.Leaf)); diff != "" {
							t.Fatalf("%s to %s at %s: %s", a, b, one.Entries[i].Line, diff)
						}
						if x, y := shown(da, one.Entries, leaf), shown(db, two.Entries, two.Leaf); x != y && a != "omp" && b != "omp" { // which leaves out some
							t.Fatalf("%s to %s at %s: %d messages in the context, not %d", a, b, one.Entries[i].Line, y, x)
						}
					}
				}
			}
		})
	}
}

// shown is how many messages are in the context.
func shown(d core.Dialect, es []core.Entry, leaf core.Leaf) int {
	ctx, _ := d.Context(es, leaf)
	var c struct{ Messages []json.RawMessage }
	_ = json.Unmarshal(ctx, &c)
	return len(c.Messages)
}

// hasRing reports whether parents lead back to where they began: no tree has
// the paths of such a session.
func hasRing(es []core.Entry) bool {
	up := map[string]string{}
	for _, e := range es {
		up[e.ID] = e.Parent
	}
	for id := range up {
		n := 0
		for at, ok := id, true; ok && n <= len(up); at, ok = up[at] {
			n++
		}
		if n > len(up) {
			return true
		}
	}
	return false
}

// randomPi is a pi session of about 60 entries: branches, missing parents and
// targets, duplicate ids, unknown types.
func randomPi(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(piHead)
	ids := []string{"gone"}
	pick := func() string { return ids[r.IntN(len(ids))] }
	for i := range 60 {
		id := "e" + strconv.Itoa(i)
		if r.IntN(30) == 0 {
			id = pick()
		}
		parent := ids[len(ids)-1]
		if r.IntN(5) == 0 {
			parent = pick()
		}
		base := fmt.Sprintf(`"id":%q,"parentId":%q,"timestamp":"2026-01-02T03:%02d:%02d.000Z"`, id, parent, i/60, i%60)
		var line string
		switch r.IntN(13) {
		case 0, 1:
			line = fmt.Sprintf(`{"type":"message",%s,"message":{"role":"user","content":"u%d"}}`, base, i)
		case 2:
			line = fmt.Sprintf(`{"type":"message",%s,"message":{"role":"assistant","content":[{"type":"thinking","thinking":"h%d"},{"type":"text","text":"a%d"},{"type":"toolCall","id":"c%d","name":"n","arguments":{"i":%d}}],"provider":"p%d","model":"m","stopReason":"toolUse"}}`, base, i, i, i, i, r.IntN(3))
		case 3:
			line = fmt.Sprintf(`{"type":"message",%s,"message":{"role":"toolResult","toolCallId":"c%d","toolName":"n","content":[{"type":"text","text":"r%d"}],"isError":%v}}`, base, i-1, i, r.IntN(2) == 0)
		case 4:
			line = fmt.Sprintf(`{"type":"compaction",%s,"summary":"s%d","firstKeptEntryId":%q,"tokensBefore":1}`, base, i, pick())
		case 5:
			line = fmt.Sprintf(`{"type":"branch_summary",%s,"fromId":%q,"summary":"b%d"}`, base, pick(), i)
		case 6:
			line = fmt.Sprintf(`{"type":"label",%s,"targetId":%q,"label":"l%d"}`, base, pick(), i)
		case 7:
			line = fmt.Sprintf(`{"type":"session_info",%s,"name":"n%d"}`, base, i)
		case 8:
			line = fmt.Sprintf(`{"type":"custom_message","customType":"x","content":"m%d","display":true,%s}`, i, base)
		case 9:
			line = fmt.Sprintf(`{"type":"thinking_level_change",%s,"thinkingLevel":"high"}`, base)
		case 10:
			line = fmt.Sprintf(`{"type":"model_change",%s,"provider":"q","modelId":"w%d"}`, base, i)
		case 11:
			line = fmt.Sprintf(`{"type":"usage",%s}`, base)
		default:
			line = fmt.Sprintf(`{"type":"nobody",%s}`, base)
		}
		ids = append(ids, id)
		b.WriteString(line + "\n")
	}
	return b.String()
}

// chained is an agent whose sessions are one chain.
type chained struct{ core.Dialect }

func (chained) Name() string { return "chained" }
func (chained) Linear() bool { return true }

func TestConvertToChainWithEmptyFirstKeptEntry(t *testing.T) {
	t.Parallel()
	f, pi := read(t, story)
	res, err := convert.Convert(convert.Request{
		From: pi, To: chained{dialect.All()["omp"]}, Header: f.Header, Entries: f.Entries, Leaf: core.LeafAt("e2"), ID: uuid, Time: made,
	})
	if err != nil {
		t.Fatal(err)
	}
	all := string(core.Lines(res.Header.Before(res.Entries)))
	for _, want := range []string{"they looked", "done", "by the way", "A look"} {
		if !strings.Contains(all, want) {
			t.Errorf("it lacks %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "I look") {
		t.Errorf("it has what the compaction dropped:\n%s", all)
	}
}

// Entries without ids, each an answer of another model: the new ids are found
// without going through all that were given before.
func TestManyEntriesWithoutIDsConvertInTime(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(piHead)
	for i := range 20_000 {
		fmt.Fprintf(&b, `{"type":"message","timestamp":"2026-01-02T03:04:05.000Z","parentId":null,"message":{"role":"assistant","content":[{"type":"text","text":"x"}],"provider":"p","model":"m%d"}}`+"\n", i)
	}
	f, pi := read(t, b.String())
	for _, name := range trees() {
		if got := len(to(t, name, f, pi, core.NoLeaf).Entries); got < 20_000 {
			t.Errorf("%s: %d entries", name, got)
		}
	}
}
