package pi_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// PI-02, PI-04, PI-38, PI-39: what of a file is an entry; what is none is skipped.
func TestFile(t *testing.T) {
	t.Parallel()
	const mark = "\ufeff"
	for _, c := range []struct {
		name, data string
		exact      bool
		ids        string
		lines      []int // of the entries
		skipped    []int
	}{
		{"Plain", string(text(header, hello, hi)), true, "u1 a1", []int{2, 3}, nil},
		{"HeaderAlone", string(text(header)), true, "", []int{}, nil},
		{"NoLastNewline", header + "\n" + hello, false, "u1", []int{2}, nil},
		{"HeaderAloneNoNewline", header, false, "", []int{}, nil},
		{"LastLineCut", string(text(header, hello)) + hi[:50], false, "u1", []int{2}, []int{3}},
		{"BadLineInTheMiddle", string(text(header, hello, "{bad", hi)), false, "u1 a1", []int{2, 4}, []int{3}},
		{"CRLF", strings.ReplaceAll(string(text(header, hello, hi)), "\n", "\r\n"), true, "u1 a1", []int{2, 3}, nil},
		{"BlankLines", string(text("", header, " \t", hello, "\r", hi, "\u00a0\ufeff")), false, "u1 a1", []int{4, 6}, nil},
		{"ByteOrderMark", mark + string(text(header, hello)), false, "u1", []int{2}, nil},
		{"ByteOrderMarkLater", string(text(header, mark+hello, hi)), false, "a1", []int{3}, []int{2}},
		{"GarbageBeforeHeader", string(text("garbage", "null", "[]", header, hello)), false, "u1", []int{5}, []int{1, 2, 3}},
		{"NoObjects", string(text(header, "null", "123", "[]", `"s"`, "true", hello)), false, "u1", []int{7}, []int{2, 3, 4, 5, 6}},
		{"EmptyObject", string(text(header, "{}")), true, "", []int{2}, nil},
		{"LaterHeader", string(text(header, hello, header, hi)), true, "u1 019b7ca9-0000-7000-8000-000000000000 a1", []int{2, 3, 4}, nil},
		{"TwoObjectsOnALine", string(text(header, hello+hi, hi)), false, "a1", []int{3}, []int{2}},
		{"ObjectAndGarbage", string(text(header, hello+"x", hi)), false, "a1", []int{3}, []int{2}},
		{"PrettyPrinted", string(text(header, "{", `"id":"x"`, "}", hello)), false, "u1", []int{5}, []int{2, 3, 4}},
		{"NUL", string(text(header, "\x00\x00", hello)), false, "u1", []int{3}, []int{2}},
		{"InvalidUTF8", string(text(header, "{\"id\":\"x\",\"s\":\"\xff\xe2\x82\"}")), true, "x", []int{2}, nil},
		{"LineSeparatorIsNoNewline", string(text(header, "{\"id\":\"x\",\"s\":\"\u2028\u2029\u0085\"}")), true, "x", []int{2}, nil},
		{"NumbersOutOfRange", string(text(header, `{"id":"x","n":[1e400,12345678901234567890]}`)), true, "x", []int{2}, nil},
		{"DuplicateIDs", string(text(header, hello, hello)), true, "u1 u1", []int{2, 3}, nil},
		{"TooDeep", string(text(header, `{"a":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+"}", hello)), false, "u1", []int{3}, []int{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := pi.Dialect{}.File([]byte(c.data))
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
			if f.Dialect != "pi" || f.Version != "3" || f.Header.CWD != "/home/dev/project" || f.Header.Time != "2026-01-02T03:04:05.000Z" {
				t.Errorf("%+v", f.Header)
			}
		})
	}
}

// PI-39: pi begins a session of its own in such a file. Here it is refused, and stays
// as it is.
func TestFileRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, says string }{
		{"Empty", "", "empty"},
		{"OnlyAMark", "\ufeff", "empty"},
		{"WhiteSpace", " \n\n\t\r\n", "white space"},
		{"Garbage", "hello\nworld\n", "line 1"},
		{"EntryFirst", string(text(hello, header)), `line 1: it begins with type "message"`},
		{"NoType", string(text("junk", "{}", header)), `line 2: it begins with type ""`},
		{"IDIsANumber", `{"type":"session","version":3,"id":7}`, "id in the header is not a string"},
		{"NoID", `{"type":"session","version":3}`, "id in the header is not a string"},
		{"TitleSlot", string(text(`{"type":"title","v":1,"title":"x"}`, header)), "omp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := pi.Dialect{}.File([]byte(c.data))
			if f != nil || !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want ErrInvalid with %q", err, c.says)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		"":                                  false,
		"hello\n":                           false,
		header:                              true,
		"junk\n\n\ufeff\n" + header + "\nx": true,
		"\ufeff" + header:                   true,
		header[:40]:                         false,
		hello:                               false,
		`{"type":"session","id":7}`:         false,
		`{"type":"session","version":3,"id":"x","timestamp":1767312000.8,"cwd":"/"}`: false, // Operator's
		`{"type":"title","v":1}` + "\n" + header:                                     false, // omp's
		`{"record_type":"header","id":"x"}`:                                          false, // OpenRath's
	} {
		if got := (pi.Dialect{}).Detect([]byte(data)); got != want {
			t.Errorf("Detect(%q) = %v", data, got)
		}
	}
}

// PI-02, PI-03, PI-04
func TestHeaderAndEntry(t *testing.T) {
	t.Parallel()
	d := pi.Dialect{}
	h, err := d.Header([]byte(`{"type":"session","id":"x","cwd":7,"parentSession":"/p.jsonl","timestamp":null}`))
	if err != nil || h.ID != "x" || h.CWD != "" || h.Parent != "/p.jsonl" || h.Time != "" {
		t.Errorf("%+v, %v", h, err)
	}
	e, err := d.Entry([]byte(`{"id":"a","parentId":5,"type":"t","timestamp":7,"id":"b","\u0074ype":"u"}`))
	if err != nil || e.ID != "b" || e.Parent != "" || e.Type != "u" || e.Time != "" {
		t.Errorf("%+v, %v", e, err)
	}
	for _, bad := range []string{"", "null", "[]", "{", "{}{}", "{\n}", "\ufeff{}"} {
		if _, err := d.Entry([]byte(bad)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Entry(%q): %v", bad, err)
		}
		if _, err := d.Header([]byte(bad)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Header(%q): %v", bad, err)
		}
	}
}
