package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

var kinds = []core.Kind{
	core.KindOpen, core.KindAppend, core.KindAmend, core.KindHead, core.KindClaim, core.KindRelease, core.KindCheckpoint,
	core.KindClose, core.KindDelete, core.KindUndelete, core.KindErase, core.KindHold, core.KindUnhold, core.KindRedact, "made-up",
}

// Any bytes give a state or an error, and an error changes nothing.
func FuzzApply(f *testing.F) {
	f.Add(byte(0), "main", "w", []byte("{\"dialect\":\"pi\"}\n"+header), false)
	f.Add(byte(1), "main", "w", []byte(line("b", "a")+"\n"+line("c", "b")), true)
	f.Add(byte(1), "main", "w", []byte("\n\n"), true)
	f.Add(byte(2), "main", "w", []byte(line("a", "b")), true)
	f.Add(byte(2), "main", "w", []byte(`{}`), true)
	f.Add(byte(3), "side", "w", []byte(`{"leaf":{"id":"\ud800"}}`), true)
	f.Add(byte(4), "side", "\xff", []byte(`{"since":"0000-01-01T00:00:00Z"}`), true)
	f.Add(byte(4), "", "", []byte(`{}`), true)
	f.Add(byte(6), "main", "w", []byte(`{"seq":1,"size":-1,"bytes":-9223372036854775808,"heads":{"x":null}}`), true)
	f.Add(byte(7), "main", "w", []byte(`{"time":"9999-12-31T23:59:59-23:59","usage":{"cost":-0}}`), true)
	f.Add(byte(10), "main", "w", []byte(`null`), true)
	f.Add(byte(14), "\x00", "\x00", []byte{0xff}, true)
	f.Add(byte(11), "main", "w", []byte(`{"by":"ada","why":"x"}`), true)
	f.Add(byte(13), "main", "w", []byte(`{"by":"ada"}`+"\n"+line("a", "")), true)
	f.Add(byte(13), "main", "w", []byte(`{"by":"ada"}`), true)
	f.Add(byte(13), "main", "w", []byte(line("b", "")), true)
	f.Fuzz(func(t *testing.T, kind byte, head, writer string, body []byte, there bool) {
		s := core.NewState(logName, session, dialect.All())
		if there {
			s = opened(t, line("a", ""))
		}
		before := asManifest(t, s)
		err := s.Apply(next(s, kinds[int(kind)%len(kinds)], head, writer, string(body)))
		if err == nil {
			restoreIt(t, s)
			return
		}
		if !errors.Is(err, core.ErrCorrupt) && !errors.Is(err, core.ErrNotFound) {
			t.Errorf("an error of no kind: %v", err)
		}
		if after := asManifest(t, s); after != before {
			t.Errorf("an error changed the state\n%s\nwas\n%s", after, before)
		}
	})
}

// restoreIt checks that s comes back from its manifest and its lines.
func restoreIt(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *core.State,
) {
	t.Helper()
	if s.Erased != nil || s.UnknownKind != "" {
		return // no manifest is made of these
	}
	plain := s.Render()
	text, err := json.Marshal(s.Manifest(plain, "object"))
	if err != nil {
		t.Fatalf("%v", err)
	}
	m, err := (&core.Record{Kind: core.KindCheckpoint, Body: text}).Manifest()
	if err != nil {
		t.Fatalf("%v", err)
	}
	got, err := core.Restore(m, plain, s.Pos, dialect.All())
	if err != nil {
		t.Fatalf("%v", err)
	}
	// What says how much was saved is another matter right after saving.
	if d := diff(s, got, "Base", "Tail", "Checkpointed", "SnapshotSize", "Snapshot"); d != "" {
		t.Fatalf("restored state (-want +got)\n%s", d)
	}
	for i := range s.Entries {
		a, _ := s.Entry(s.Entries[i].ID)
		b, _ := got.Entry(s.Entries[i].ID)
		if string(a.Line) != string(b.Line) {
			t.Fatalf("entry %q is %s, restored %s", s.Entries[i].ID, a.Line, b.Line)
		}
	}
}

// Whatever a session went through, snapshot and manifest are the fold, field
// by field, and folding on from them gives the same as folding on.
func TestRestoreMatchesFold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := opened(t, line("a", ""), `{"type":"custom"}`)
		n := 0
		step := func(s *core.State) *core.Record {
			n++
			head := rapid.SampledFrom([]string{"main", "side", "x.y"}).Draw(rt, "head")
			writer := rapid.SampledFrom([]string{"w1", "w2"}).Draw(rt, "writer")
			some := s.Entries[rapid.IntRange(0, len(s.Entries)-1).Draw(rt, "entry")].ID
			text := rapid.StringMatching(`[a-z"\\\x{80}-\x{10ffff}]{0,5}`).Draw(rt, "text")
			quoted, _ := json.Marshal(text)
			body := map[core.Kind]string{
				core.KindAppend:   fmt.Sprintf(`{"id":"e%d","parentId":%q,"type":"t","x":%s}`, n, some, quoted) + "\n" + `{"no":"id"}`,
				core.KindAmend:    fmt.Sprintf(`{"id":"a","y":%s}`, quoted),
				core.KindHead:     rapid.SampledFrom([]string{`{"leaf":{}}`, `{"leaf":{"none":true}}`, `{"leaf":{"id":` + string(quoted) + `}}`}).Draw(rt, "leaf"),
				core.KindClaim:    fmt.Sprintf(`{"agent":%s,"since":"2026-01-02T03:04:05.678901234+01:00"}`, quoted),
				core.KindRelease:  `{}`,
				core.KindClose:    fmt.Sprintf(`{"why":%s,"usage":{"input":3,"cost":0.1}}`, quoted),
				core.KindDelete:   fmt.Sprintf(`{"by":%s,"time":"2026-01-02T03:04:05Z"}`, quoted),
				core.KindUndelete: `{}`,
				core.KindHold:     fmt.Sprintf(`{"why":%s}`, quoted),
				core.KindUnhold:   `{}`,
				core.KindRedact:   `{"by":"ada"}` + "\n" + fmt.Sprintf(`{"id":"a","z":%s}`, quoted),
			}
			some2 := []core.Kind{
				core.KindAppend, core.KindAppend, core.KindAmend, core.KindHead, core.KindClaim,
				core.KindRelease, core.KindClose, core.KindDelete, core.KindUndelete,
				core.KindHold, core.KindUnhold, core.KindRedact,
			}
			kind := rapid.SampledFrom(some2).Draw(rt, "kind")
			return next(s, kind, head, writer, body[kind])
		}
		for range rapid.IntRange(0, 20).Draw(rt, "records") {
			if err := s.Apply(step(s)); err != nil {
				rt.Fatal(err)
			}
		}
		restoreIt(rt, s)

		m := s.Manifest(s.Render(), "object")
		restored, err := core.Restore(m, s.Render(), s.Pos, dialect.All())
		if err != nil {
			rt.Fatal(err)
		}
		text, _ := json.Marshal(m)
		late := rapid.IntRange(0, 5).Draw(rt, "records before the checkpoint")
		for i := range late + 4 {
			r := step(s)
			if i == late {
				r = next(s, core.KindCheckpoint, "main", "w", string(text))
			}
			if err := errors.Join(s.Apply(r), restored.Apply(r)); err != nil {
				rt.Fatal(err)
			}
		}
		if d := diff(s, restored); d != "" {
			rt.Fatalf("folded on (-from first +from snapshot)\n%s", d)
		}
	})
}

func TestRestoreRefusesOtherBytes(t *testing.T) {
	s := opened(t, line("a", ""))
	plain := s.Render()
	for what, c := range map[string]struct {
		plain string
		spoil func(*core.Manifest)
		want  error
	}{
		"cut short":     {string(plain[:len(plain)-1]), func(*core.Manifest) {}, core.ErrCorrupt},
		"newer rules":   {string(plain), func(m *core.Manifest) { m.Fold = 1000 }, core.ErrTooNew},
		"no such agent": {string(plain), func(m *core.Manifest) { m.Origin.Dialect = "none" }, core.ErrNotFound},
		"no head":       {string(plain), func(m *core.Manifest) { m.Heads["side"] = nil }, core.ErrCorrupt},
	} {
		m := s.Manifest(plain, "object")
		c.spoil(m)
		_, err := core.Restore(m, []byte(c.plain), 1, dialect.All())
		wantErr(t, what, err, c.want)
	}
}

func TestApplyRejectsOrphans(t *testing.T) {
	for what, spoil := range map[string]func(*core.Record){
		"a gap":          func(r *core.Record) { r.Seq++ },
		"again":          func(r *core.Record) { r.Seq-- },
		"another chain":  func(r *core.Record) { r.Chain[31] ^= 1 },
		"another body":   func(r *core.Record) { r.Body = []byte("{}") },
		"another writer": func(r *core.Record) { r.Writer = "x" },
	} {
		s := opened(t, line("a", ""))
		before := asManifest(t, s)
		r := next(s, core.KindAppend, "main", "w", line("b", "a"))
		spoil(r)
		wantErr(t, what, s.Apply(r), core.ErrOrphan)
		if asManifest(t, s) != before {
			t.Errorf("%s changed the state", what)
		}
	}
}

func TestClaimsAndReleases(t *testing.T) {
	s := opened(t, line("a", ""))
	apply(t, s, core.KindClaim, "main", "w1", `{"agent":"one"}`)
	apply(t, s, core.KindRelease, "main", "w2", `{}`) // not its own
	if c := s.Heads["main"].Claim; c == nil || c.Writer != "w1" || c.Epoch != 1 || c.Seq != 2 {
		t.Errorf("main is held by %+v", c)
	}
	apply(t, s, core.KindClaim, "side", "w2", `{}`)
	apply(t, s, core.KindClaim, "main", "w3", `{}`)
	apply(t, s, core.KindRelease, "main", "w1", `{}`) // over already
	if c := s.Heads["main"].Claim; c == nil || c.Writer != "w3" || s.Epoch != 3 {
		t.Errorf("main is held by %+v in epoch %d", c, s.Epoch)
	}
	apply(t, s, core.KindAppend, "main", "w3", line("b", "a"))
	apply(t, s, core.KindRelease, "main", "w3", `{}`)
	if h := s.Heads["main"]; h.Claim != nil || h.Leaf != core.LeafAt("b") {
		t.Errorf("main is %+v", h)
	}
}
