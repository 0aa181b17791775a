package opencode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/agentfile"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/optional"
)

func TestEventsAreRestoredByteForByte(t *testing.T) {
	t.Parallel()
	s := begin().asks("msg_1", "ä\u2028").answers("msg_2", "b")
	for name, text := range map[string]string{
		"compact":              s.text(),
		"spaced":               "[ " + strings.Join(s.events, " ,  ") + " ]\n",
		"one on a line":        "[\n" + strings.Join(s.events, ",\n") + "\n]\n",
		"pretty":               "[" + strings.Join(s.events, ",") + "]",
		"irregular":            "[" + s.events[0] + ", " + s.events[1] + "  ," + strings.Join(s.events[2:], ",") + "]",
		"broken lines":         strings.ReplaceAll(s.text(), `"type":`, "\n\"type\" : "),
		"events of others":     "[" + s.events[0] + `,{"id":"evt_x","aggregate_id":"ses_other","seq":0,"type":"session.created.1","data":{}},` + strings.Join(s.events[1:], ",") + "]",
		"what is no event":     "[" + strings.Join(s.events, ",") + `,null,[1],"x",{"type":"sesslog.line"},{"id":"evt_0001"},{"type":"label"},{"id":"evt_9","aggregate_id":"` + session + `","seq":9,"type":"name","data":{}}]`,
		"an event twice":       "[" + strings.Join(s.events, ",") + "," + s.events[1] + "]",
		"members of the other": strings.ReplaceAll(s.text(), "aggregate_id", "aggregateID"),
		"no creation":          "[" + strings.Join(s.events[1:], ",") + "]",
		"invalid UTF-8":        strings.ReplaceAll(s.text(), "calm", "c\xff"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := read(t, text)
			if got := restored(t, f, "")["events.json"]; got != text {
				t.Errorf("got  %q\nwant %q", got, text)
			}
			if got := contents(t, f); !strings.HasPrefix(got, "u:ä") || !strings.HasSuffix(got, "|a:b") {
				t.Errorf("context %q", got)
			}
			if got := restored(t, f, "/new")["events.json"]; strings.Contains(got, `"/w/a","path":"w/a"`) || len(got) != len(strings.NewReplacer(`"directory":"/w/a"`, `"directory":"/new"`, `"path":"w/a"`, `"path":"new"`).Replace(text)) && name != "irregular" {
				t.Errorf("in another directory: %q", got)
			}
			checkSession(t, f)
		})
	}
}

func TestExportWithoutEventsIsRestoredByteForByte(t *testing.T) {
	t.Parallel()
	plain := restored(t, begin().asks("msg_1", "a").answers("msg_2", "b").file(t), "")["export.json"]
	for name, text := range map[string]string{
		"as opencode writes it": plain,
		"compact":               strings.Join(strings.Fields(plain), ""),
		"with unknown members":  strings.Replace(plain, "{", `{"info2":1,`, 1),
		"empty":                 `{"info":{"id":"` + session + `"},"messages":[]}`,
	} {
		if name == "with unknown members" {
			text = strings.Replace(plain, `"messages"`, `"more": 1, "messages"`, 1)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := read(t, text)
			files := restored(t, f, "")
			if files["export.json"] != text || len(files) != 1 {
				t.Errorf("%d files, %q, want %q", len(files), files["export.json"], text)
			}
			checkSession(t, f)
		})
	}
}

func TestSubagentNamesItsParent(t *testing.T) {
	t.Parallel()
	f := begin(`,"parentID":"ses_parent"`).asks("msg_1", "a").file(t)
	if h := f.Header; h.Lineage != "subagent" || len(h.Parents) != 1 || h.Parents[0] != "ses_parent" || h.ID != session || h.CWD != "/w/a" {
		t.Errorf("%+v", h)
	}
}

func TestGrownFilesGiveTheEarlierEntries(t *testing.T) {
	t.Parallel()
	s := begin().asks("msg_1", "a")
	old := s.file(t)
	oldExport := read(t, restored(t, old, "")["export.json"])
	s.answers("msg_2", "b").row("session.updated.1", "info", s.info("Later"))
	grown := s.file(t)
	grownExport := read(t, restored(t, grown, "")["export.json"])
	d := opencode.Dialect{}
	for name, c := range map[string]struct{ old, grown *core.File }{"events": {old, grown}, "export": {oldExport, grownExport}} {
		missing, err := agentfile.MissingFrom(d, c.old, c.grown)
		if err != nil || len(missing) == 0 || len(missing) >= len(c.grown.Entries) {
			t.Errorf("%s: %d of %d entries are missing, %v", name, len(missing), len(c.grown.Entries), err)
		}
		all := &core.File{Header: c.old.Header, Entries: append(c.old.Entries[:len(c.old.Entries):len(c.old.Entries)], missing...)}
		if got := contents(t, all); got != "u:a|a:b" {
			t.Errorf("%s: the grown session says %q", name, got)
		}
		if got := d.Summary(all.Header, all.Entries).Name; got != "Later" {
			t.Errorf("%s: it is called %q", name, got)
		}
	}
	if d.Succession(old.Header, oldExport.Entries, grownExport.Entries) != optional.Later || d.Succession(old.Header, grown.Entries, oldExport.Entries) != optional.Earlier {
		t.Error("the export is not recognized as later, or as earlier")
	}
}

// An export and the list of events of a session share no entry. The later one is
// taken, whichever comes first, and replay gives opencode the same session.
func TestExportAndEventsOfOneSession(t *testing.T) {
	t.Parallel()
	reordered := strings.NewReplacer(`"agent":"build","model":{"providerID":"p","modelID":"m"}`, `"model":{"modelID":"m","providerID":"p"},"agent":"build"`)
	s := begin().asks("msg_1", "a").asks("msg_0", "gone").part("prt_gone", "msg_1", `"type":"text","text":"gone"`)
	events := s.file(t)
	export := read(t, reordered.Replace(restored(t, events, "")["export.json"]))
	s.event("message.removed.1", `"messageID":"msg_0"`).event("message.part.removed.1", `"messageID":"msg_1","partID":"prt_gone"`)
	s.answers("msg_2", "b").row("session.updated.1", "info", s.info("Later"))
	laterEvents := s.file(t)
	laterExport := read(t, reordered.Replace(restored(t, laterEvents, "")["export.json"]))
	d := opencode.Dialect{}
	for name, c := range map[string]struct {
		have, file *core.File
		want       optional.Succession
	}{
		"the export of the events": {events, export, optional.Earlier},
		"the events of the export": {export, events, optional.Later},
		"an earlier export":        {laterEvents, export, optional.Earlier},
		"earlier events":           {laterExport, events, optional.Earlier},
		"a later export":           {events, laterExport, optional.Later},
		"later events":             {export, laterEvents, optional.Later},
	} {
		missing, err := agentfile.MissingFrom(d, c.have, c.file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := d.Succession(c.have.Header, c.have.Entries, c.file.Entries); got != c.want {
			t.Errorf("%s: succession %d, want %d", name, got, c.want)
		}
		if c.want != optional.Later {
			continue
		}
		all := slices.Concat(c.have.Entries, missing)
		_, replayed := opencode.Replay(c.have.Header, all, opencode.Place{Directory: "/w/a"})
		list, err := json.Marshal(replayed)
		if err != nil {
			t.Fatal(err)
		}
		again := read(t, string(list))
		if got, want := contents(t, again), contents(t, c.file); got != want || d.Summary(again.Header, again.Entries).Name != d.Summary(c.file.Header, c.file.Entries).Name {
			t.Errorf("%s: replayed, the session says %q, want %q", name, got, want)
		}
	}
	both := &core.File{Header: events.Header, Entries: slices.Concat(events.Entries, laterExport.Entries)}
	grown := read(t, "["+strings.Join(s.events[len(events.Entries)-1:], ",")+"]")
	if got := d.Succession(both.Header, both.Entries, grown.Entries); got != optional.Later {
		t.Errorf("the events after those of the log, of which it has an export: succession %d", got)
	}
	partial := read(t, "["+strings.Join(s.events[1:], ",")+"]")
	if _, err := agentfile.MissingFrom(d, export, partial); !errors.Is(err, core.ErrConflict) {
		t.Errorf("events without their beginning: %v", err)
	}
}

// What an export no longer has was removed.
func TestLaterExportRemovesMessages(t *testing.T) {
	t.Parallel()
	s := begin().asks("msg_1", "a").asks("msg_2", "b")
	first := read(t, restored(t, s.file(t), "")["export.json"])
	s.event("message.removed.1", `"messageID":"msg_2"`).row("session.updated.1", "info", s.info("x"))
	second := read(t, restored(t, s.file(t), "")["export.json"])
	missing, err := agentfile.MissingFrom(opencode.Dialect{}, first, second)
	if err != nil {
		t.Fatal(err)
	}
	all := &core.File{Header: first.Header, Entries: append(first.Entries, missing...)}
	if got := contents(t, all); got != "u:a" {
		t.Errorf("it says %q", got)
	}
}

// An event is the same whatever white space a program put into it.
func TestWhitespaceDoesNotChangeEvent(t *testing.T) {
	t.Parallel()
	s := begin().asks("msg_1", "a")
	spaced := read(t, strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(s.text()))
	if missing, err := agentfile.MissingFrom(opencode.Dialect{}, spaced, s.file(t)); err != nil || len(missing) > 0 {
		t.Errorf("%d events are missing, %v", len(missing), err)
	}
}

func TestBundlesBelongToSessionsOfTheirFolder(t *testing.T) {
	t.Parallel()
	s := begin().asks("msg_1", "a")
	x := restored(t, s.file(t), "")["export.json"]
	other := strings.ReplaceAll(x, session, "ses_other")
	files := []bundle.File{
		{Path: "a/export.json", Data: []byte(x)},
		{Path: "a/events.json", Data: []byte(s.text())},
		{Path: "a/child.json", Data: []byte(other)},
		{Path: "b/export.json", Data: []byte(x)},
		{Path: "b/old.json", Data: []byte(x)},
		{Path: "package.json", Data: []byte(`{"name":"x"}`)},
		{Path: "a/notes.txt", Data: []byte(x)},
		{Path: "c.json"},
	}
	var got []string
	for _, b := range (opencode.Dialect{}).Bundles(paths(files), func(path string) []byte { return data(files, path) }) {
		got = append(got, fmt.Sprintf("%s: %s", b.Main, strings.Join(b.Files, " ")))
	}
	if want := "a/events.json: a/events.json a/export.json|a/child.json: a/child.json|b/export.json: b/export.json|b/old.json: b/old.json"; strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
}

func paths(files []bundle.File) (all []string) {
	for _, f := range files {
		all = append(all, f.Path)
	}
	return all
}

func data(files []bundle.File, path string) []byte {
	for _, f := range files {
		if f.Path == path {
			return f.Data
		}
	}
	return nil
}

func TestMalformedFilesAreRejected(t *testing.T) {
	t.Parallel()
	s := begin().asks("msg_1", "a")
	x := restored(t, s.file(t), "")["export.json"]
	for name, text := range map[string]string{
		"events truncated":       s.text()[:len(s.text())-9],
		"events with a tail":     s.text() + "x",
		"export truncated":       x[:len(x)-9],
		"export without a row":   `{"info":{"id":"ses_x"`,
		"nothing":                "",
		"no session":             "[]",
		"deep":                   `[{"aggregate_id":"ses_x","data":` + strings.Repeat("[", 100_000),
		"an id that is too long": strings.ReplaceAll(s.text(), session, "ses_"+strings.Repeat("x", 300)),
	} {
		if _, err := (opencode.Dialect{}).File([]byte(text)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A fork is a separate session: opencode's database holds it beside its source.
func TestForkGetsNewIDs(t *testing.T) {
	t.Parallel()
	d := opencode.Dialect{}
	f := begin().asks("msg_1", "a").answers("msg_2", "b").asks("msg_3", "c").file(t)
	path, err := d.Path(f.Entries, core.LeafAt("evt_0004"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: "0192a0b0-0000-7000-8000-000000000000", Time: "2026-01-02T03:04:05.678Z", CWD: "/fork", Parent: session}))
	if err != nil || h.Lineage != "fork" {
		t.Fatal(h, err)
	}
	fork := &core.File{Header: h, Entries: path}
	x := restored(t, fork, "")["export.json"]
	for _, old := range []string{session, `"msg_1"`, `"msg_2"`, `"prt_msg_1"`} {
		if strings.Contains(x, old) {
			t.Errorf("the fork has %s:\n%s", old, x)
		}
	}
	again := read(t, x)
	if got := contents(t, again); got != "u:a|a:b" || !strings.HasPrefix(again.Header.ID, "ses_") || again.Header.CWD != "/fork" {
		t.Errorf("the fork %s in %s says %q", again.Header.ID, again.Header.CWD, got)
	}
	if u := d.Summary(h, path).Usage; u.Input != 0 {
		t.Errorf("the fork used %+v", u)
	}
	if u := d.Summary(f.Header, f.Entries).Usage; u.Input != 10 || u.Output != 3 || u.CacheRead != 4 || u.CacheWrite != 3 || u.Cost != 0.5 {
		t.Errorf("its source used %+v", u)
	}
}

func TestNameGivenInTheLog(t *testing.T) {
	t.Parallel()
	d := opencode.Dialect{}
	s := begin().asks("msg_1", "a")
	f := s.file(t)
	e, err := d.Fill(d.NewName("Mine"), core.Fields{ID: "n1", Time: "2026-01-02T03:04:05.678Z"})
	if err != nil || !e.Aside {
		t.Fatal(e, err)
	}
	f.Entries = append(f.Entries, e)
	if got := d.Summary(f.Header, f.Entries).Name; got != "Mine" {
		t.Errorf("it is called %q", got)
	}
	files := restored(t, f, "")
	if files["events.json"] != s.text() || !strings.Contains(files["export.json"], `"title": "Mine"`) {
		t.Errorf("%q", files)
	}
	later, err := d.Entry([]byte(begin().row("session.updated.1", "info", begin().info("Theirs")).events[1]))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Summary(f.Header, append(f.Entries, later)).Name; got != "Theirs" {
		t.Errorf("after a new title it is called %q", got)
	}
}

// opencode continues the session of which the row was changed last.
func TestRowOfTheSessionIsAChange(t *testing.T) {
	t.Parallel()
	s := begin().asks("m1", "one")
	at := time.UnixMilli(s.ms).UTC().Format("2006-01-02T15:04:05.000Z")
	f := s.row("session.updated.1", "info", s.info("Renamed")).file(t)
	if sum := (opencode.Dialect{}).Summary(f.Header, f.Entries); sum.Changed != at || sum.Modified >= at {
		t.Errorf("modified %s and changed %s, want it changed %s", sum.Modified, sum.Changed, at)
	}
}
