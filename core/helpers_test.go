package core_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

const (
	logName = "test"
	session = core.SessionID("session1")
	header  = `{"type":"session","version":3,"id":"session1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`
)

func line(id, parent string) string {
	p, _ := json.Marshal(parent)
	if parent == "" {
		p = []byte("null")
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:05.678Z"}`, id, p)
}

// next returns the record of kind that follows s, with its chain.
func next(s *core.State, kind core.Kind, head, writer, body string) *core.Record {
	r := &core.Record{
		Kind: kind, Seq: s.Seq + 1, Base: s.Base, Head: head, Writer: writer, Epoch: s.Epoch,
		Body: []byte(body), Pos: core.Pos(10 * (s.Seq + 1)),
	}
	if kind == core.KindClaim {
		r.Epoch++
	}
	r.Chain = s.Chain.Next(r)
	return r
}

func apply(t testing.TB, s *core.State, kind core.Kind, head, writer, body string) {
	t.Helper()
	if err := s.Apply(next(s, kind, head, writer, body)); err != nil {
		t.Fatal(err)
	}
}

// opened returns the state of a session that holds lines.
func opened(t testing.TB, lines ...string) *core.State {
	t.Helper()
	s := core.NewState(logName, session, dialect.All())
	body := `{"dialect":"pi"}` + "\n" + header
	for _, l := range lines {
		body += "\n" + l
	}
	apply(t, s, core.KindOpen, core.MainHead, "w", body)
	return s
}

func entries(t testing.TB, s *core.State, lines ...string) []core.Entry {
	t.Helper()
	var es []core.Entry
	for _, l := range lines {
		e, err := s.Dialect.Entry([]byte(l))
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return es
}

// diff compares states field by field, but for those named.
func diff(want, got *core.State, but ...string) string {
	asWhole := cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))
	return cmp.Diff(want, got, cmpopts.IgnoreUnexported(core.State{}), cmpopts.IgnoreFields(core.State{}, append(but, "Log")...),
		cmpopts.EquateEmpty(), cmp.AllowUnexported(core.Leaf{}), asWhole)
}

// asManifest returns all that is in s, as text.
func asManifest(t testing.TB, s *core.State) string {
	t.Helper()
	if s.Dialect == nil {
		return fmt.Sprintf("%d %s", s.Seq, s.Chain)
	}
	plain := s.Render()
	m, err := json.Marshal(s.Manifest(plain, "object"))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s\n%s\n%v %v %d %d %d %d", m, plain, s.UnknownKind, s.Erased, s.Pos, s.Base, s.Tail, s.Checkpointed)
}

func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error is %v, want %v", what, got, want)
	}
}
