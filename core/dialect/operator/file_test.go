package operator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/newid"
)

// TestFile: OP-01, OP-40.
func TestFile(t *testing.T) {
	t.Parallel()
	const mark = "\ufeff"
	ofPi := `{"type":"session","id":"x","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/"}`
	for _, c := range []struct {
		name, data string
		exact      bool
		ids        string
		lines      []int // of the entries
		skipped    []int
	}{
		{"Plain", string(text(header, hello, hi)), true, "u1 a1", []int{2, 3}, nil},
		{"HeaderAlone", string(text(header)), true, "", nil, nil},
		{"NoLastNewline", header + "\n" + hello, false, "u1", []int{2}, nil},
		{"LastLineTorn", string(text(header, hello)) + hi[:50], false, "u1", []int{2}, []int{3}},
		{"GluedToATornLine", string(text(header, hello[:40]+hi, hi)), false, "a1", []int{3}, []int{2}},
		{"BadLineInTheMiddle", string(text(header, hello, "{bad", hi)), false, "u1 a1", []int{2, 4}, []int{3}},
		{"CRLF", strings.ReplaceAll(string(text(header, hello, hi)), "\n", "\r\n"), true, "u1 a1", []int{2, 3}, nil},
		{"BlankLines", string(text("", header, " \t", hello, "\r", hi, "\u00a0\x1c\u2028")), false, "u1 a1", []int{4, 6}, nil},
		{"ByteOrderMark", mark + string(text(header, hello)), false, "u1", []int{2}, nil},
		{"JunkBeforeHeader", string(text("junk", "null", header, hello)), false, "u1", []int{4}, []int{1, 2}},
		{"UnknownBeforeHeader", string(text(`{"type":"x"}`, ofPi, header, hello)), false, "u1", []int{4}, []int{1, 2}},
		{"NoObjects", string(text(header, "null", "123", "[]", `"s"`, hello)), false, "u1", []int{6}, []int{2, 3, 4, 5}},
		{"UnknownTypesAreKept", string(text(header, `{"type":"wormhole","id":"w"}`, "{}", hello)), true, "w  u1", []int{2, 3, 4}, nil},
		{"RefusedLinesAreKept", string(text(header, then("thinking_level_change", "t", "", `,"thinking_level":"ultra"`))), true, "t", []int{2}, nil},
		{"LaterHeader", string(text(header, hello, header)), true, "u1 " + sessionID, []int{2, 3}, nil},
		{"DuplicateIDs", string(text(header, hello, hello)), true, "u1 u1", []int{2, 3}, nil},
		{"LineSeparatorsAreNoNewlines", string(text(header, says("s", "", "{\"role\":\"user\",\"contents\":[{\"content\":\"a\u2028b\u2029c\u0085d\"}]}"))), true, "s", []int{2}, nil},
		{"InvalidUTF8", string(text(header, "{\"id\":\"x\",\"s\":\"\xff\"}")), true, "x", []int{2}, nil},
		{"NullsOfAFork", string(text(header, `{"id":"x","timestamp":1.0,"parent_id":null,"type":"message","message":{"role":"user","contents":[]},"meta":null}`)), true, "x", []int{2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := operator.Dialect{}.File([]byte(c.data))
			if err != nil {
				t.Fatal(err)
			}
			var skipped []int
			for _, s := range f.Skipped {
				skipped = append(skipped, s.Line)
				if s.Error == "" || strings.HasSuffix(s.Error, ": invalid") {
					t.Errorf("line %d: unhelpful reason %q", s.Line, s.Error)
				}
			}
			if f.Exact != c.exact || ids(f.Entries) != c.ids || !slices.Equal(f.Lines, c.lines) || !slices.Equal(skipped, c.skipped) {
				t.Errorf("exact %v, ids %q, lines %v, skipped %v", f.Exact, ids(f.Entries), f.Lines, f.Skipped)
			}
			if whole := string(core.Lines(f.Header.Before(f.Entries))); (whole == c.data) != c.exact {
				t.Errorf("rendered: %q", whole)
			}
			if f.Dialect != "operator" || f.Version != "3" || f.Header.ID != sessionID || f.Header.CWD != "/home/dev/project" || f.Header.Time != "1767323045.123456" {
				t.Errorf("%+v", f.Header)
			}
		})
	}
}

// TestFileRefuses: OP-40.
func TestFileRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, says string }{
		{"Empty", "", "empty"},
		{"WhiteSpace", " \n\n\t\r\n", "empty"},
		{"Garbage", "hello\nworld\n", "line 1: not JSON"},
		{"EntryFirst", string(text(hello, header)), `line 1: it begins with type "message"`},
		{"IDIsNull", string(text(`{"type":"session","id":null,"cwd":"/"}`, hello)), "line 1: the id in the header is not a string"},
		{"NoCWD", string(text(`{"type":"session","id":"x"}`)), "line 1: the header has no cwd"},
		{"OfPi", string(text(`{"type":"session","id":"x","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/"}`)), "line 1: the timestamp in the header is not a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := operator.Dialect{}.File([]byte(c.data))
			if f != nil || !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want ErrInvalid with %q", err, c.says)
			}
		})
	}
}

// TestHeader: OP-02, OP-03.
func TestHeader(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]core.Header{
		header: {ID: sessionID, CWD: "/home/dev/project", Time: "1767323045.123456"},
		`{"type":"session_header","id":"s1","timestamp":5,"cwd":"/w"}`:                             {ID: "s1", CWD: "/w", Time: "5"},
		`{"type":"session","version":9,"id":"s1","cwd":"/w","parent_session":"/p.jsonl"}`:          {ID: "s1", CWD: "/w", Parent: "/p.jsonl"},
		`{"type":"session","id":"s1","timestamp":5.0,"cwd":"/w","parent_session":null,"extra":[]}`: {ID: "s1", CWD: "/w", Time: "5.0"},
		`{"cwd":"/w","timestamp":"5.5","id":"s1","\u0074ype":"session"}`:                           {ID: "s1", CWD: "/w", Time: "5.5"},
	} {
		want.Line = []byte(line)
		h, err := operator.Dialect{}.Header([]byte(line))
		if err != nil || string(h.Line) != line || h.ID != want.ID || h.CWD != want.CWD || h.Time != want.Time || h.Parent != want.Parent {
			t.Errorf("%s: %+v, %v", line, h, err)
		}
	}
	for _, bad := range []string{
		"", "null", "[]", "{", "{}{}", "{\n}", hello, `{"type":"session","id":5,"cwd":"/w"}`,
		`{"type":"session","id":"s","cwd":5}`, `{"type":"session","id":"s","cwd":"/","timestamp":null}`, `{"type":"session","id":"s","cwd":"/","timestamp":"0x1p3"}`,
	} {
		if _, err := (operator.Dialect{}).Header([]byte(bad)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Header(%q): %v", bad, err)
		}
	}
}

// TestEntry: OP-04.
func TestEntry(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]core.Entry{
		hi:                      {ID: "a1", Parent: "u1", Type: "message", Time: "1002.5"},
		`{"id":"r","type":"x"}`: {ID: "r", Type: "x"},
		`{"id":"r","parent_id":null,"timestamp":1767312011.721007}`: {ID: "r", Time: "1767312011.721007"},
		`{"id":"r","timestamp":1e400}`:                              {ID: "r", Time: "1e400"},
		`{"id":5,"parent_id":5,"type":5,"timestamp":true}`:          {},
		`{"id":"a","id":"b","parentId":"c"}`:                        {ID: "b"},
	} {
		e, err := operator.Dialect{}.Entry([]byte(line))
		if err != nil || string(e.Line) != line || e.ID != want.ID || e.Parent != want.Parent || e.Type != want.Type || e.Time != want.Time {
			t.Errorf("%s: %+v, %v", line, e, err)
		}
	}
	for _, bad := range []string{"", "null", "[]", "{", "{}{}", "{\n}", "\ufeff{}"} {
		if _, err := (operator.Dialect{}).Entry([]byte(bad)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Entry(%q): %v", bad, err)
		}
	}
}

// Only cwd is required. The id is derived from the header, so that every import gives the
// same one.
func TestHeaderWithoutID(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, h := range []string{`{"type":"session","cwd":"/"}`, `{"type":"session","cwd":"/w"}`, `{"type":"session_header","id":"","timestamp":5,"cwd":"/"}`} {
		data := text(h, hello)
		f, d, err := dialect.Read("", data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := d.Header(f.Header.Line)
		if d.Name() != "operator" || err != nil || again.ID != f.Header.ID || ids[again.ID] || !newid.IsUUID(again.ID) {
			t.Errorf("%s is a session of %s with the id %q, read again %q, %v", h, d.Name(), f.Header.ID, again.ID, err)
		}
		ids[again.ID] = true
		if !f.Exact || string(f.Header.Line) != h || len(f.Entries) != 1 {
			t.Errorf("%s is changed: %+v", h, f)
		}
	}
}

// Without a timestamp, a header of the type session is the same in pi and Operator.
func TestDetectWithoutTimestamp(t *testing.T) {
	t.Parallel()
	const h = `{"type":"session","version":3,"id":"x","cwd":"/"}`
	for data, want := range map[string]string{
		h + "\n" + hello:    "operator",
		h + "\nx\n" + hello: "operator",
		h + "\n" + `{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"hi"}}`: "pi",
		h + "\n" + `{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi"}}`:                                        "pi",
		h: "pi",
	} {
		if d, err := dialect.Detect([]byte(data)); err != nil || d.Name() != want {
			t.Errorf("Detect(%q): %v, %v, want %s", data, d, err, want)
		}
	}
}

// TestDetect: OP-03.
func TestDetect(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		header: "operator",
		`{"type":"session_header","id":"s","cwd":"/w"}`:        "operator",
		"junk\n\n" + header + "\nx":                            "operator",
		"\ufeff" + header:                                      "operator",
		`{"type":"session","id":"s","timestamp":5,"cwd":"/w"}`: "operator",
		`{"type":"session","version":3,"id":"x","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/"}`: "pi",
		`{"type":"session","version":3,"id":"x","cwd":"/"}`:                                        "pi",
		`{"type":"session","id":"x","timestamp":5}`:                                                "",
		`{"type":"title","v":1}` + "\n" + header:                                                   "",
		`{"record_type":"header","id":"x"}`:                                                        "openrath",
		header[:60]:                                                                                "",
		hello:                                                                                      "",
		"":                                                                                         "",
	} {
		ours, pis := operator.Dialect{}.Detect([]byte(data)), pi.Dialect{}.Detect([]byte(data))
		if ours != (want == "operator") || pis != (want == "pi") {
			t.Errorf("Detect(%q): operator %v, pi %v", data, ours, pis)
		}
		d, err := dialect.Detect([]byte(data))
		if (err == nil) != (want != "") || err == nil && d.Name() != want {
			t.Errorf("Detect(%q): %v, %v", data, d, err)
		}
	}
}
