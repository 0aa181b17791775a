package bytestream_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/core/item"
)

var dialect bytestream.Dialect

func entries(t *testing.T, lines ...bytestream.Line) []core.Entry {
	t.Helper()
	es := make([]core.Entry, len(lines))
	for i, l := range lines {
		e, err := dialect.Entry(l.Encode())
		if err != nil {
			t.Fatal(err)
		}
		es[i] = e
	}
	return es
}

func TestBodiesAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"hello", "\x00\xff\xfe", "a\r\nb\u2028<&>", strings.Repeat("é", 1000), `"quoted\"`} {
		l := bytestream.NewAppend([]byte(body))
		line := l.Encode()
		if bytes.ContainsAny(line, "\n\r") {
			t.Errorf("%q takes several lines", body)
		}
		got, err := bytestream.ReadLine(line)
		if err != nil || string(got.Body()) != body || got.Length != int64(len(body)) {
			t.Errorf("%q is read as %q, %d bytes, %v", body, got.Body(), got.Length, err)
		}
	}
}

func TestStateFollowsLines(t *testing.T) {
	t.Parallel()
	seq := "0002"
	es := entries(t,
		bytestream.Line{Type: bytestream.TypeAppend, Length: 5, Producer: &bytestream.Producer{ID: "p", Epoch: 1, Seq: 0}},
		bytestream.Line{Type: bytestream.TypeFork, Fork: "ds-other"},
		bytestream.Line{Type: bytestream.TypeTouch, Time: "2026-01-02T03:04:05.000Z"},
		bytestream.Line{Type: bytestream.TypeAppend, Length: 3, Seq: &seq},
		bytestream.Line{Type: "of a newer version", Length: 100},
		bytestream.Line{Type: bytestream.TypeAppend, Length: 2, Closed: true, Producer: &bytestream.Producer{ID: "p", Epoch: 1, Seq: 1}},
	)
	var s bytestream.State
	for i := range es {
		s.Add(es[:i+1]) // as the session grows
	}
	if s.Tail != 10 || !s.Closed || s.ClosedBy.Seq != 1 || *s.Seq != seq || s.Producers["p"].Seq != 1 || len(s.Forks) != 1 || s.Used.IsZero() {
		t.Errorf("the state is %+v", s)
	}
	for offset, want := range map[int64]int{0: 0, 4: 0, 5: 3, 8: 5, 10: 6, 99: 6} {
		if got := s.After(offset); got != want {
			t.Errorf("after %d comes entry %d, want %d", offset, got, want)
		}
	}
	for offset, want := range map[int64]bool{-1: false, 0: true, 1: false, 5: true, 8: true, 9: false, 10: true, 11: false} {
		if got := s.IsBoundary(offset); got != want {
			t.Errorf("offset %d is a boundary: %v, want %v", offset, got, want)
		}
	}
}

func TestFileIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	h, err := dialect.Header(bytestream.Config{ID: "ds-a__b", Path: "a/b", ContentType: "text/plain", From: &bytestream.Fork{Session: "ds-source"}}.Line())
	if err != nil || len(h.Parents) != 1 || h.Lineage != "fork" {
		t.Fatalf("header %+v, %v", h, err)
	}
	data := core.Lines(h.Before(entries(t, bytestream.NewAppend([]byte("x")), bytestream.Line{Type: bytestream.TypeClose})))
	f, err := dialect.File(data)
	if err != nil || !dialect.Detect(data) || !f.Exact || len(f.Entries) != 2 || !bytes.Equal(core.Lines(dialect.Layout(f.Header, f.Entries)), data) {
		t.Errorf("read %+v, %v", f, err)
	}
	f, err = dialect.File(append(data, "no JSON\n"...))
	if err != nil || f.Exact || len(f.Skipped) != 1 {
		t.Errorf("a bad line is read as %+v, %v", f, err)
	}
}

func TestFillCompletesLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{}`, ` { } `, `{"type":"append"}`, `{"type":"append","id":"own"} `} {
		e, err := dialect.Fill([]byte(line), core.Fields{ID: "made", Time: "2026-01-02T03:04:05.000Z"})
		if err != nil || e.ID == "" || e.Time == "" || !json.Valid(e.Line) {
			t.Errorf("%s becomes %s, %v", line, e.Line, err)
		}
	}
}

func TestConversationsAreMessages(t *testing.T) {
	t.Parallel()
	l := bytestream.NewValues([]json.RawMessage{[]byte(`{"role":"user","content":"hi"}`), []byte(`{"event":1}`)})
	its := dialect.Read(entries(t, l)[0])
	if len(its) != 2 || its[0].Role != item.RoleUser || its[0].Blocks[0].Text != "hi" || its[1].Kind != item.Note {
		t.Errorf("read %+v", its)
	}
	line, _ := dialect.Write(its[0])
	if again := dialect.Read(core.Entry{Line: line}); len(again) != 1 || again[0].Blocks[0].Text != "hi" {
		t.Errorf("written and read again: %+v", again)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"type":"append","length":3,"text":"abc"}`))
	f.Add([]byte(`{"type":"append","length":-3,"json":[1,"x",{"role":"user","content":"y"}],"producer":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := dialect.Entry(line)
		if err != nil {
			return
		}
		var s bytestream.State
		s.Add([]core.Entry{e})
		if s.Tail < 0 {
			t.Errorf("the stream ends at %d", s.Tail)
		}
		dialect.Read(e)
		if filled, err := dialect.Fill(line, core.Fields{ID: "id", Time: "t"}); err == nil && !json.Valid(filled.Line) {
			t.Errorf("filled %q", filled.Line)
		}
		if _, err := dialect.Context([]core.Entry{e}, core.Leaf{}); err != nil {
			t.Error(err)
		}
	})
}

func TestAppendsSayTheirLength(t *testing.T) {
	t.Parallel()
	for line, ok := range map[string]bool{
		`{"type":"append","length":3,"text":"abc"}`:                               true,
		`{"type":"append","length":2,"text":"gone"}`:                              true, // redacted
		`{"type":"append","length":9,"json":[]}`:                                  true,
		`{"type":"append","length":2,"text":"` + strings.Repeat("x", 2000) + `"}`: false,
		`{"type":"append","length":2147483648}`:                                   false,
		`{"type":"append"}`:                                                       false,
		`{"type":"append","length":2,"json":[1]}`:                                 true,
		`{"type":"close"}`:                                                        true,
		`{"type":"close","length":9999999999999999}`:                              false,
		`{"type":"message"}`:                                                      false,
	} {
		if err := dialect.Check([]byte(line)); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}
