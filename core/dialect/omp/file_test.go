package omp_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/omp"
)

// OMP-03, OMP-18, OMP-22: what of a file is an entry, in which order.
func TestFile(t *testing.T) {
	t.Parallel()
	title := slot("S", "user", early)
	for _, c := range []struct {
		name, data string
		exact      bool
		ids        string
		lines      []int // of the entries
		skipped    []int
	}{
		{"Slot", string(text(title, header, hello, hi)), true, " u1 a1", []int{1, 3, 4}, nil},
		{"SlotAlone", string(text(title, header)), true, "", []int{1}, nil},
		{"HeaderFirst", string(text(header, hello, hi)), true, "u1 a1", []int{2, 3}, nil},
		{"SlotLater", string(text(header, title, hello)), false, " u1", []int{2, 3}, nil},
		{"TwoSlots", string(text(title, header, title, hello)), false, "  u1", []int{1, 3, 4}, nil},
		{"RenamedSince", string(text(title, header, renamed("X", "user", later))), false, " t", []int{1, 3}, nil},
		{"RenamedWithTheSlot", string(text(title, header, renamed("S", "user", early))), true, " t", []int{1, 3}, nil},
		{"NoLastNewline", string(text(title, header)) + hello, false, " u1", []int{1, 3}, nil},
		{"LastLineCut", string(text(header, hello)) + hi[:50], false, "u1", []int{2}, []int{3}},
		{"BadLine", string(text(header, hello, "{bad", hi)), false, "u1 a1", []int{2, 4}, []int{3}},
		{"CutLine", string(text(header, hello, hi[:60], hi)), false, "u1 a1", []int{2, 4}, []int{3}},
		{"CRLF", strings.ReplaceAll(string(text(title, header, hello)), "\n", "\r\n"), true, " u1", []int{1, 3}, nil},
		{"BlankLines", string(text(header, "", hello, " \t")), false, "u1", []int{3}, nil},
		{"ByteOrderMark", "\ufeff" + string(text(title, header, hello)), false, " u1", []int{1, 3}, nil},
		{"GarbageBeforeHeader", string(text("junk", "null", header, hello)), false, "u1", []int{4}, []int{1, 2}},
		{"NoObjects", string(text(header, "null", "123", "[]", `"s"`, hello)), false, "u1", []int{6}, []int{2, 3, 4, 5}},
		{"LaterHeader", string(text(header, hello, header, hi)), true, "u1 019b7ca9-0000-7000-8000-000000000000 a1", []int{2, 3, 4}, nil},
		{"TwoObjectsOnALine", string(text(header, hello+hi, `{"id":"x"}`)), false, "u1 x", []int{2, 3}, []int{2}},
		{"ObjectAndGarbage", string(text(header, hello+" x", hi)), false, "u1 a1", []int{2, 3}, []int{2}},
		{"PrettyPrinted", string(text(header, "{", ` "id": "x",`, "", ` "n": 1.0`, "}", hello)), false, "x u1", []int{2, 7}, nil},
		{"PrettyPrintedAndMore", string(text(header, "{", "} {", hello)), false, " u1", []int{2, 4}, []int{3}},
		{"ListOverLines", string(text(header, "[", "{}", "]", hello)), false, "u1", []int{5}, []int{2}},
		{"NeverClosed", string(text(header, `{"a":`, hello, hi)), false, "u1 a1", []int{3, 4}, []int{2}},
		{"NUL", string(text(header, "\x00", hello)), false, "u1", []int{3}, []int{2}},
		{"InvalidUTF8", string(text(header, "{\"id\":\"x\",\"s\":\"\xff\"}")), true, "x", []int{2}, nil},
		{"LineSeparator", string(text(header, "{\"id\":\"x\",\"s\":\"\u2028\"}")), true, "x", []int{2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := omp.Dialect{}.File([]byte(c.data))
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
			if got := laidOut(f.Header, f.Entries); (got == c.data) != c.exact {
				t.Errorf("laid out: %q", got)
			}
		})
	}
}

// OMP-18, OMP-19: omp begins a session of its own in some such files. Here they are
// refused, and stay as they are.
func TestFileRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, says string }{
		{"Empty", "", "empty"},
		{"OnlyAMark", "\ufeff", "empty"},
		{"WhiteSpace", " \n\n", "white space"},
		{"SlotAlone", slot("S", "", early) + "\n", "nothing but a title"},
		{"SlotWithoutNewline", slot("S", "", early), `type "title"`},
		{"SlotBehindABlankLine", string(text("", slot("S", "", early), header)), `line 2: it begins with type "title"`},
		{"Garbage", "hello\n", "line 1"},
		{"EntryFirst", string(text(hello, header)), `line 1: it begins with type "message"`},
		{"IDIsANumber", `{"type":"session","version":3,"id":7}`, "id in the header is not a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := omp.Dialect{}.File([]byte(c.data))
			if f != nil || !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want ErrInvalid with %q", err, c.says)
			}
		})
	}
}

// A file of nothing but beginnings is read in a time that grows with it.
// A parser that reads from each line to the end would read 40 GB or more for each of
// these, which exceeds the time of go test.
func TestUnclosedInputTakesLinearTime(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"[\n", "{\"a\":\n", "{\"a\":[\n", "{\n"} {
		data := append(text(header), bytes.Repeat([]byte(begin), 200_000)...)
		if f, err := (omp.Dialect{}).File(data); err != nil || len(f.Entries) != 0 {
			t.Errorf("%q: %v", begin, err)
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	own := func(kind string) string { return string(text(header, hello, `{"type":"`+kind+`"}`)) }
	for data, want := range map[string]string{
		string(text(slot("S", "", early), header)):           "omp",
		"\ufeff" + string(text(slot("", "", early), header)): "omp",
		header:                          "pi",
		string(text(header, hello, hi)): "pi",
		string(text(header, `{"type":"model_change","provider":"p","modelId":"m"}`)): "pi",
		string(text(header, `{"type":"model_change","model":"p/m"}`)):                "omp",
		string(text("junk", header, `{"type":"model_change","model":"p/m"}`)):        "omp",
		own("service_tier_change"): "omp",
		own("mode_change"):         "omp",
		own("reset_boundary"):      "omp",
		own("title_change"):        "omp",
		own("ttsr_injection"):      "omp",
		own("credential_pin"):      "omp",
		own("session_init"):        "omp",
		own("model_usage"):         "omp",
		own("wormhole"):            "pi",
		own("session_info"):        "pi",
		strings.TrimSuffix(header, "}") + `,"title":"x","titleSource":"user"}`:       "omp",
		`{"type":"session","version":3,"id":"x","timestamp":1767312000.8,"cwd":"/"}`: "operator",
		string(text(slot("S", "", early), hello, header)):                            "",
		slot("S", "", early) + "\n":                                                  "",
		"":                                                                           "",
		string(text(header)) + strings.Repeat("x", 1<<20) + "\n" + `{"type":"reset_boundary"}` + "\n": "pi",
	} {
		d, err := dialect.Detect([]byte(data))
		if (err == nil) != (want != "") || err == nil && d.Name() != want {
			t.Errorf("Detect(%.80q) = %v, %v, want %q", data, d, err, want)
		}
	}
}

// OMP-15, OMP-16, OMP-17: an old file is migrated as it is read, without its
// slot being counted.
func TestMigration(t *testing.T) {
	t.Parallel()
	title := slot("S", "", early)
	f, err := omp.Dialect{}.File(text(title, `{"type":"session","id":"s"}`, `{"type":"message","message":{"role":"hookMessage"}}`, `{"type":"compaction","firstKeptEntryIndex":1}`))
	if err != nil {
		t.Fatal(err)
	}
	a, b := f.Entries[1].ID, f.Entries[2].ID
	want := string(text(title, `{"type":"session","id":"s","version":3}`,
		fmt.Sprintf(`{"type":"message","message":{"role":"custom"},"id":%q,"parentId":null}`, a),
		fmt.Sprintf(`{"type":"compaction","id":%q,"parentId":%q,"firstKeptEntryId":%q}`, b, a, a)))
	if got := laidOut(f.Header, f.Entries); got != want || f.Exact || f.Version != "1" || len(a) != 8 {
		t.Errorf("version %s, exact %v\n%s\nwant\n%s", f.Version, f.Exact, got, want)
	}
}

func TestHeaderAndEntry(t *testing.T) {
	t.Parallel()
	d := omp.Dialect{}
	h, err := d.Header([]byte(`{"type":"session","id":"x","cwd":7,"parentSession":"p","timestamp":null}`))
	if err != nil || h.ID != "x" || h.CWD != "" || h.Parent != "p" || h.Time != "" {
		t.Errorf("%+v, %v", h, err)
	}
	for _, bad := range []string{"", "null", "[]", "{", "{}{}", "{\n}"} {
		if _, err := d.Entry([]byte(bad)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Entry(%q): %v", bad, err)
		}
		if _, err := d.Header([]byte(bad)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Header(%q): %v", bad, err)
		}
		if _, err := d.Fill([]byte(bad), core.Fields{ID: "i"}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Fill(%q): %v", bad, err)
		}
	}
}
