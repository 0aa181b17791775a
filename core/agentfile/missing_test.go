package agentfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/agentfile"
	"github.com/sesslog/sesslog/core/dialect"
)

const header = `{"type":"session","version":3,"id":"session1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`

func line(id, parent string) string {
	named := fmt.Sprintf("%q", parent)
	if parent == "" {
		named = "null"
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:05.678Z"}`, id, named)
}

// opened returns the state of a session that holds lines.
func opened(t *testing.T, lines ...string) *core.State {
	t.Helper()
	s := core.NewState("test", "session1", dialect.All())
	body := strings.Join(append([]string{`{"dialect":"pi"}`, header}, lines...), "\n")
	r := &core.Record{Kind: core.KindOpen, Seq: 1, Head: core.MainHead, Writer: "w", Body: []byte(body), Pos: 10}
	r.Chain = s.Chain.Next(r)
	if err := s.Apply(r); err != nil {
		t.Fatal(err)
	}
	return s
}

func entries(t *testing.T, s *core.State, lines ...string) (es []core.Entry) {
	t.Helper()
	for _, l := range lines {
		e, err := s.Dialect.Entry([]byte(l))
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return es
}

func TestMissing(t *testing.T) {
	twin, other := `{"type":"custom"}`, `{"type":"custom","n":1}`
	have := []string{line("a", ""), twin, line("b", "a"), line("dup", "a"), line("dup", "b")}
	for what, c := range map[string]struct {
		file []string
		want []string
		bad  int // the line that contradicts
	}{
		"the same":                     {have, nil, 0},
		"behind":                       {have[:2], nil, 0},
		"grown":                        {append(have[:5:5], line("c", "b")), []string{line("c", "b")}, 0},
		"grown in the middle":          {[]string{have[0], line("c", "a"), have[2]}, []string{line("c", "a")}, 0},
		"a line without id, once more": {append(have[:5:5], twin), []string{twin}, 0},
		"another line without id":      {append(have[:5:5], other), []string{other}, 0},
		"other bytes":                  {append(have[:2:2], line("b", "")), nil, 4},
		"the first that contradicts":   {[]string{line("c", ""), line("b", ""), line("a", "b")}, nil, 3},
		"repeated in the file":         {append(have[:5:5], line("b", "a")), nil, 0},
		"new and repeated in the file": {append(have[:5:5], line("c", "b"), line("c", "b")), []string{line("c", "b"), line("c", "b")}, 0},
	} {
		s := opened(t, have...)
		f := &core.File{Header: s.Header, Entries: entries(t, s, c.file...)}
		for i := range f.Entries {
			f.Lines = append(f.Lines, i+2)
		}
		fresh, err := agentfile.Missing(s, f)
		var got []string
		for _, e := range fresh {
			got = append(got, string(e.Line))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: missing are %q, want %q", what, got, c.want)
		}
		le, ok := errors.AsType[*core.LineError](err)
		if ok != (c.bad > 0) || ok && (le.Line != c.bad || !errors.Is(err, core.ErrConflict)) || !ok && err != nil {
			t.Errorf("%s: %v, want line %d", what, err, c.bad)
		}
	}
	s := opened(t)
	_, err := agentfile.Missing(s, &core.File{Header: core.Header{Line: []byte(`{"type":"session","id":"session1"}`)}})
	if le, ok := errors.AsType[*core.LineError](err); !ok || le.Line != 1 {
		t.Errorf("another header: %v", err)
	}
}
