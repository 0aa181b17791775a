package materializer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// grammars are lines of each dialect that change a row. ID is an entry's id, REF
// that of another or of none, TIME a time, N a number, TEXT a word or nothing.
var grammars = map[string]struct {
	header string
	lines  []string
}{
	"pi": {`{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`, []string{
		`{"type":"message","id":"ID","parentId":REF,"timestamp":"TIME","message":{"role":"user","content":"TEXT"}}`,
		`{"type":"message","id":"ID","parentId":REF,"timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"TEXT"}],"usage":{"input":N,"output":N,"cost":{"total":0.N}}}}`,
		`{"type":"message","id":"ID","parentId":REF,"timestamp":"TIME","message":5}`,
		`{"type":"session_info","id":"ID","parentId":REF,"name":"TEXT"}`,
		`{"type":"usage","id":"ID","parentId":REF,"usage":{"input":N}}`,
	}},
	"omp": {`{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w","title":"first"}`, []string{
		`{"type":"message","id":"ID","parentId":REF,"timestamp":"TIME","message":{"role":"user","content":"TEXT"}}`,
		`{"type":"message","id":"ID","parentId":REF,"timestamp":"TIME","message":{"role":"assistant","content":[],"usage":{"input":N}}}`,
		`{"type":"title","v":1,"title":"TEXT","source":"user","updatedAt":"TIME","pad":""}`,
		`{"type":"title_change","id":"ID","parentId":REF,"timestamp":"TIME","title":"TEXT","source":"auto"}`,
		`{"type":"compaction","id":"ID","parentId":REF,"timestamp":"TIME","summary":"x","shortSummary":"TEXT"}`,
		`{"type":"model_usage","id":"ID","parentId":REF,"usage":{"input":N}}`,
	}},
	"operator": {`{"type":"session","id":"s","timestamp":1767323045.5,"cwd":"/w"}`, []string{
		`{"type":"message","id":"ID","parent_id":REF,"timestamp":17673N.5,"message":{"role":"user","contents":[{"type":"text","content":"TEXT"}]}}`,
		`{"type":"message","id":"ID","parent_id":LAST,"timestamp":17673N.5,"message":{"role":"assistant","contents":[],"usage":{"input_tokens":N}}}`,
		`{"type":"message","id":"ID","parent_id":LAST,"timestamp":17673N.5,"message":{"role":"nobody"}}`,
		`{"type":"session_info","id":"ID","parent_id":LAST,"timestamp":17673N,"name":"TEXT"}`,
		`{"type":"session_info","id":"ID","parent_id":REF,"timestamp":17673N,"name":"TEXT"}`,
		`{"type":"leaf","id":"ID","parent_id":REF,"timestamp":17673N,"target_id":REF}`,
	}},
	"openrath": {`{"record_type":"header","schema_version":1,"id":"00000000-0000-4000-8000-00000000000a","created_at":"2026-01-02T03:04:05.678901+00:00","parent_session_ids":[],"lineage_operator":"implicit","lineage_kind":"unknown","lineage_extras":[]}`, []string{
		`{"record_type":"chunk","id":"ID","kind":"user","payload":{"content":"TEXT"}}`,
		`{"record_type":"chunk","id":"ID","kind":"assistant","payload":{"content":"TEXT"}}`,
		`{"record_type":"trailer","closed_at":"TIME","final_chunk_count":N,"cumulative_usage":{"prompt_tokens":N,"completion_tokens":N,"total_tokens":N}}`,
	}},
	"nova": {`{"type":"nova","id":"abcdefgh","created_at":"2026-01-02T03:04:05Z"}`, []string{
		`{"type":"task","id":"ID","timestamp":"TIME","turns":N,"decision":{"decision":"TEXT"}}`,
		`{"type":"tokens","id":"ID","timestamp":"TIME","count":N}`,
		`{"type":"update","id":"ID","timestamp":"TIME","updates":{"current_plan":"TEXT","tags":["TEXT","b"]}}`,
		`{"type":"name","id":"ID","timestamp":"TIME","name":"TEXT"}`,
		`{"type":"begin","id":"ID","timestamp":"TIME","session_id":"abcdefgh-N","created_at":"TIME","parent":"abcdefgh"}`,
		`{"type":"state","id":"ID","timestamp":"TIME","state":{"session_id":"abcdefgh","created_at":"2026-01-02T03:04:05","last_updated":"2026-01-02T03:04:06","tags":["TEXT"],"turn_count":N}}`,
	}},
}

// A randomSession makes records of a session.
type randomSession struct {
	rnd   *rand.Rand
	lines []string
	st    *core.State
	ids   []string
}

func (s *randomSession) quoted(id string) string {
	if id == "" {
		return "null"
	}
	return `"` + id + `"`
}

func (s *randomSession) ref() string {
	if n := len(s.ids); n > 0 && s.rnd.IntN(5) > 0 {
		return s.quoted(s.ids[s.rnd.IntN(n)])
	}
	return s.quoted([]string{"", "none"}[s.rnd.IntN(2)])
}

// line makes a line with that id.
func (s *randomSession) line(id string) []byte {
	last := ""
	if n := len(s.ids); n > 0 {
		last = s.ids[n-1]
	}
	line := s.lines[s.rnd.IntN(len(s.lines))]
	return []byte(strings.NewReplacer(
		"ID", id, "LAST", s.quoted(last), "REF", s.ref(), "N", fmt.Sprint(1+s.rnd.IntN(9)),
		"TEXT", []string{"", "a", "plan", " word "}[s.rnd.IntN(4)],
		"TIME", fmt.Sprintf("2026-01-02T03:0%d:05.678Z", s.rnd.IntN(9)),
	).Replace(line))
}

func (s *randomSession) newLine() []byte {
	id := fmt.Sprintf("e%d", len(s.ids))
	if n := len(s.ids); n > 0 && s.rnd.IntN(20) == 0 { // a file may have an id twice
		id = s.ids[s.rnd.IntN(n)]
	}
	line := s.line(id)
	s.ids = append(s.ids, id)
	return line
}

// apply folds a record. A record that the state refuses is left out.
func (s *randomSession) apply(kind core.Kind, body []byte) {
	r := &core.Record{Kind: kind, Head: core.MainHead, Seq: s.st.Seq + 1, Body: body, Count: 1, Time: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	r.Chain = s.st.Chain.Next(r)
	_ = s.st.Apply(r)
}

func (s *randomSession) step() {
	switch s.rnd.IntN(12) {
	case 0:
		if len(s.ids) > 0 {
			s.apply(core.KindAmend, s.line(s.ids[s.rnd.IntN(len(s.ids))]))
		}
	case 1:
		if len(s.ids) > 0 {
			s.apply(core.KindRedact, append([]byte("{}\n"), s.line(s.ids[s.rnd.IntN(len(s.ids))])...))
		}
	case 2:
		s.apply(core.KindHead, []byte(`{"leaf":{"id":`+s.quoted(fmt.Sprintf("e%d", s.rnd.IntN(9)))+`}}`))
	case 3:
		if s.rnd.IntN(20) == 0 {
			s.apply(core.KindErase, []byte("{}"))
		}
	default:
		var lines [][]byte
		for range 1 + s.rnd.IntN(3) {
			lines = append(lines, s.newLine())
		}
		s.apply(core.KindAppend, bytes.Join(lines, []byte("\n")))
	}
}

// restored returns the state as a snapshot keeps it.
func (s *randomSession) restored(t *testing.T) *core.State {
	t.Helper()
	plain := s.st.Render()
	st, err := core.Restore(s.st.Manifest(plain, "object"), plain, s.st.Pos, dialect.All())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// OpenRath's chunks have no time, so a session counts as modified when the last of them was
// stored, also for a node that reads a snapshot of it.
func TestRowIsModifiedWhenMessagesWithoutTimeAreStored(t *testing.T) {
	t.Parallel()
	s := &randomSession{st: core.NewState("log", "s", dialect.All())}
	s.apply(core.KindOpen, []byte(`{"dialect":"openrath"}`+"\n"+`{"record_type": "header", "schema_version": 1, "id": "01234567-89ab-4cde-8f01-23456789abcd", "created_at": "2026-01-02T03:04:05+00:00"}`))
	if got := ViewOf(s.st).Row.Modified; got != "" {
		t.Errorf("a session without a message was modified at %q", got)
	}
	s.apply(core.KindAppend, []byte(`{"record_type": "chunk", "kind": "user", "payload": {"content": "hi"}}`))
	for _, st := range []*core.State{s.st, s.restored(t)} {
		if got := ViewOf(st).Row.Modified; got != "2026-03-04T05:06:07.000Z" {
			t.Errorf("modified at %q", got)
		}
	}
}

func TestRowOfGrowingSessionEqualsNewRow(t *testing.T) {
	t.Parallel()
	for name := range grammars {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				growRandomly(t, name, seed)
			}
		})
	}
}

func growRandomly(t *testing.T, name string, seed uint64) {
	t.Helper()
	d := dialect.All()[name]
	s := &randomSession{rnd: rand.New(rand.NewPCG(seed, 1)), lines: grammars[name].lines, st: core.NewState("log", "s", dialect.All())}
	s.apply(core.KindOpen, []byte(`{"dialect":"`+name+`"}`+"\n"+grammars[name].header))
	if s.st.Seq != 1 {
		t.Fatalf("%s: the session cannot be opened", name)
	}
	var rows rowMaker
	for range 40 {
		s.step()
		if s.st.Erased == nil && s.rnd.IntN(15) == 0 {
			s.st = s.restored(t)
		}
		if s.rnd.IntN(3) == 0 {
			continue // the next row has several records to read
		}
		got, want := rows.view(s.st), ViewOf(s.st)
		if diff := cmp.Diff(want.Row, got.Row, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s, seed %d:\n%s\n%s", name, seed, diff, s.st.Render())
		}
		info, err := d.Info(s.st.Header, s.st.Entries, core.Leaf{})
		if err != nil {
			t.Fatal(err)
		}
		hasNames := name != "openrath" && name != "omp" // the name of omp's row may be a summary
		if hasNames && info.Name != nil && *info.Name != got.Row.Name || hasNames && info.Name == nil && got.Row.Name != "" {
			t.Fatalf("%s, seed %d: the row's name is %q, the session's %v", name, seed, got.Row.Name, cmp.Diff(nil, info.Name))
		}
	}
}

// Every line of the grammars must be one of its dialect, or the test compares less
// than it says.
func TestGrammarsAreReadByTheirDialects(t *testing.T) {
	t.Parallel()
	for name, g := range grammars {
		s := &randomSession{rnd: rand.New(rand.NewPCG(1, 1)), lines: g.lines}
		for range 100 {
			line := s.newLine()
			if !json.Valid(line) {
				t.Errorf("%s: %s is not JSON", name, line)
			}
			if _, err := dialect.All()[name].Entry(line); err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
			}
		}
	}
}
