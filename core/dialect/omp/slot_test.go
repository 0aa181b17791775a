package omp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/omp"
)

const (
	early = "2026-01-02T03:04:05.000Z"
	later = "2026-01-02T03:04:06.000Z"
	last  = "2026-01-02T03:04:07.000Z"
)

// OMP-02, OMP-42: where the title comes from, and where it is shown.
func TestTitle(t *testing.T) {
	t.Parallel()
	titled := strings.TrimSuffix(header, "}") + `,"title":"H","titleSource":"auto"}`
	for _, c := range []struct {
		name, header string
		lines        []string
		title        string // with its source
		slot         string // the first line of the file, where it is not the header
	}{
		{"None", header, []string{hello}, "", ""},
		{"OfTheHeader", titled, []string{hello}, "H auto", ""},
		{"OfTheSlot", titled, []string{slot("S", "user", early), hello}, "S user", slot("S", "user", early)},
		{"EmptySlotClears", titled, []string{slot("", "", early), hello}, "", slot("", "", early)},
		{"SlotWithoutSource", titled, []string{slot("S", "", early), hello}, "S ", slot("S", "", early)},
		{"LastSlotCounts", header, []string{slot("S", "user", early), hello, slot("T", "auto", later)}, "T auto", slot("T", "auto", later)},
		{"RenamedWithTheSlot", header, []string{slot("S", "user", later), renamed("S", "user", later)}, "S user", slot("S", "user", later)},
		{"RenamedBeforeTheSlot", header, []string{slot("S", "user", last), renamed("X", "user", later)}, "S user", slot("S", "user", last)},
		{"RenamedAfterTheSlot", header, []string{slot("S", "user", early), renamed("X", "auto", later)}, "X auto", slot("X", "auto", later)},
		{"RenamedTwice", header, []string{slot("S", "user", early), renamed("X", "user", last), renamed("Y", "user", later)}, "X user", slot("X", "user", last)},
		{"RenamedToNothing", header, []string{slot("S", "user", early), renamed("", "user", later)}, " user", slot("", "", later)},
		{"RenamedWithoutASlot", titled, []string{renamed("X", "user", later)}, "X user", slot("X", "user", later)},
		{"RenamedBeforeTheHeader", titled, []string{renamed("X", "user", "2025-01-01T00:00:00.000Z")}, "H auto", ""},
		{"RenamedWithoutADate", header, []string{slot("S", "user", early), renamed("X", "user", "soon")}, "S user", slot("S", "user", early)},
		{"RenamedToANumber", header, []string{`{"type":"title_change","timestamp":"` + later + `","title":7}`}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := omp.Dialect{}
			h, _ := d.Header([]byte(c.header))
			es := entries(t, c.lines...)
			info, err := d.Info(h, es, core.NoLeaf)
			if err != nil {
				t.Fatal(err)
			}
			var shown struct{ Title, TitleSource *string }
			if err := json.Unmarshal(info.Header, &shown); err != nil {
				t.Fatal(err)
			}
			got := ""
			if shown.Title != nil {
				got = *shown.Title
			}
			if name := d.Summary(h, es).Name; name != got || (info.Name == nil) != (got == "") {
				t.Errorf("listed as %q, named %v", name, info.Name)
			}
			if shown.Title != nil || shown.TitleSource != nil {
				got += " "
			}
			if shown.TitleSource != nil {
				got += *shown.TitleSource
			}
			if got != c.title {
				t.Errorf("title %q, want %q", got, c.title)
			}
			first, rest, _ := strings.Cut(laidOut(h, es), "\n")
			if c.slot != "" {
				if first != c.slot || len(first) != 255 {
					t.Errorf("the file begins with %s", first)
				}
				first, _, _ = strings.Cut(rest, "\n")
			}
			if first != c.header {
				t.Errorf("%s is where the header belongs", first)
			}
		})
	}
}

func TestSlotIsCut(t *testing.T) {
	t.Parallel()
	for _, title := range []string{strings.Repeat("x", 500), strings.Repeat("é", 200), strings.Repeat("日本\n", 90), strings.Repeat("\x00", 300), "a"} {
		h, _ := omp.Dialect{}.Header([]byte(header))
		e, err := omp.Dialect{}.Fill(omp.Dialect{}.NewName(title), core.Fields{ID: "t", Time: later})
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(laidOut(h, []core.Entry{e}), "\n")
		var got struct{ Title, Pad string }
		if err := json.Unmarshal([]byte(first), &got); err != nil || len(first) != 255 || len(got.Pad) > 8 && len(title) > 500 {
			t.Errorf("%d bytes: %s, %v", len(first), first, err)
		}
		if name := (omp.Dialect{}).Summary(h, []core.Entry{e}).Name; !strings.HasPrefix(name, got.Title) {
			t.Errorf("the slot says %q, the session is %q", got.Title, name)
		}
	}
	h, _ := omp.Dialect{}.Header([]byte(header))
	endless := renamed("X", "user", later+strings.Repeat(" ", 300))
	if first, _, _ := strings.Cut(laidOut(h, entries(t, endless)), "\n"); first != header {
		t.Errorf("a slot for a date that has no room: %s", first)
	}
}

// A line like a slot is none, unless all of it is there.
func TestNoSlot(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"title","v":1,"title":"x","updatedAt":"T"}`,
		`{"type":"title","v":2,"title":"x","updatedAt":"T","pad":""}`,
		`{"type":"title","v":1,"title":7,"updatedAt":"T","pad":""}`,
		`{"type":"title","v":1,"title":"x","updatedAt":null,"pad":""}`,
		`{"type":"title","v":1,"title":"x","updatedAt":"T","pad":"","source":"x"}`,
		`{"type":"title","v":1,"title":"x","updatedAt":"T","pad":"","source":null}`,
	} {
		es := entries(t, line)
		if h, _ := (omp.Dialect{}).Header([]byte(header)); laidOut(h, es) != header+"\n"+line+"\n" {
			t.Errorf("%s is taken for a slot", line)
		}
		if _, err := (omp.Dialect{}).File(text(line, header)); err == nil {
			t.Errorf("%s before a header is no error", line)
		}
	}
}

// The slot is no place in the tree: nothing sees it, no head moves to it.
func TestSlotIsNotAnEntry(t *testing.T) {
	t.Parallel()
	d := omp.Dialect{}
	h, _ := d.Header([]byte(header))
	with := entries(t, slot("S", "", early), hello, slot("T", "", later), hi, slot("U", "", last))
	without := entries(t, hello, hi)
	if got, want := d.Leaf(with), d.Leaf(without); got != want {
		t.Errorf("leaf %v, want %v", got, want)
	}
	for _, es := range [][]core.Entry{nil, with[:1], entries(t, `{}`)} {
		if got := d.Leaf(es); got != (core.Leaf{}) {
			t.Errorf("leaf of %d lines without an id: %v", len(es), got)
		}
	}
	path, err := d.Path(with, core.Leaf{})
	if err != nil || ids(path) != "u1 a1" {
		t.Errorf("path %q, %v", ids(path), err)
	}
	if rows := d.Tree(with); len(rows) != 2 || rows[1].Depth != 1 {
		t.Errorf("tree %v", rows)
	}
	info, err := d.Info(h, with, core.Leaf{})
	if err != nil || info.EntryCount != 2 || info.Types["title"] != 0 || *info.LeafID != "a1" {
		t.Errorf("%+v, %v", info, err)
	}
	line := []byte(slot("S", "", early))
	if e, err := d.Fill(line, core.Fields{ID: "i", Parent: core.LeafAt("p"), Time: "T"}); err != nil || string(e.Line) != string(line) {
		t.Errorf("filled to %s, %v", e.Line, err)
	}
}

func TestSlotMovesNoHead(t *testing.T) {
	t.Parallel()
	d := omp.Dialect{}
	h, _ := d.Header([]byte(header))
	s := core.NewState("log", "omp-s", core.Dialects{"omp": d})
	apply := func(kind core.Kind, body []byte) {
		t.Helper()
		r := core.Record{Kind: kind, Seq: s.Seq + 1, Head: core.MainHead, Body: body}
		r.Chain = s.Chain.Next(&r)
		if err := s.Apply(&r); err != nil {
			t.Fatal(err)
		}
	}
	body, err := core.OpenBody(core.Origin{Dialect: "omp"}, h, entries(t, slot("", "", early)))
	if err != nil {
		t.Fatal(err)
	}
	apply(core.KindOpen, body)
	if got := s.Leaf(core.MainHead); got != core.NoLeaf {
		t.Errorf("a session of a slot stands at %v", got)
	}
	apply(core.KindAppend, core.LinesBody(entries(t, hello, hi)))
	apply(core.KindHead, []byte(`{"leaf":{"id":"u1"}}`))
	apply(core.KindAppend, core.LinesBody(entries(t, slot("S", "user", later))))
	if got := s.Leaf(core.MainHead); got != core.LeafAt("u1") {
		t.Errorf("a new slot moved the head to %v", got)
	}
	want := string(text(slot("S", "user", later), header, hello, hi))
	if got := laidOut(s.Header, s.Entries); got != want {
		t.Errorf("laid out as\n%s", got)
	}
}
