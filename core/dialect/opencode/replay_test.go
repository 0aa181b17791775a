package opencode_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/item"
)

func TestReplayKeepsEventsOfOpencode(t *testing.T) {
	t.Parallel()
	f := begin().asks("msg_1", "a").answers("msg_2", "b").file(t)
	id, events := opencode.Replay(f.Header, f.Entries, opencode.Place{Directory: "/new/a", Root: "/new", Project: "p1"})
	if id != session || len(events) != len(f.Entries) {
		t.Fatalf("%s, %d events", id, len(events))
	}
	for i, raw := range events {
		var ev struct {
			ID, AggregateID, Type string
			Seq                   int
			Data                  struct {
				Info struct{ Directory, Path, ProjectID any }
			}
		}
		if err := json.Unmarshal(raw, &ev); err != nil {
			t.Fatal(err)
		}
		if ev.ID != f.Entries[i].ID || ev.Seq != i || ev.AggregateID != session || ev.Type != f.Entries[i].Type {
			t.Errorf("event %d is %s", i, raw)
		}
		if strings.HasPrefix(ev.Type, "session.") && (ev.Data.Info.Directory != "/new/a" || ev.Data.Info.Path != "a" || ev.Data.Info.ProjectID != "p1") {
			t.Errorf("it is in %+v", ev.Data.Info)
		}
	}
}

// What has no events of opencode's own gets events that fold into the same.
func TestReplayMakesEventsOfOtherSessions(t *testing.T) {
	t.Parallel()
	d := opencode.Dialect{}
	f := begin().asks("msg_1", "a").answers("msg_2", "b").file(t)
	fork := &core.File{Entries: f.Entries}
	fork.Header, _ = d.Header(d.NewHeader(core.HeaderFields{ID: "a-fork-of-it", Time: "2026-01-02T03:04:05.678Z", CWD: "/w", Parent: session}))
	added := *f
	for _, it := range []item.Item{
		{Kind: item.Message, Role: item.RoleAssistant, Blocks: []item.Block{{Kind: item.BlockCall, ID: "c1", Name: "ls", Args: json.RawMessage(`{}`)}}},
		{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{{Kind: item.BlockResult, ID: "c1", Blocks: []item.Block{{Kind: item.BlockText, Text: "out"}, {Kind: item.BlockImage, MIME: "image/png", Data: "iVBORw0KGgo="}}}}},
	} {
		line, lost := d.Write(it)
		e, err := d.Fill(line, core.Fields{ID: string(it.Role), Time: "2026-01-02T03:04:05.678Z"})
		if err != nil || lost != nil {
			t.Fatal(lost, err)
		}
		added.Entries = append(added.Entries[:len(added.Entries):len(added.Entries)], e)
	}
	for name, c := range map[string]struct {
		f    *core.File
		want string
	}{
		"export":   {read(t, restored(t, f, "")["export.json"]), "u:a|a:b"},
		"fork":     {fork, "u:a|a:b"},
		"added to": {&added, `u:a|a:b|a:+c1=ls{}|t:c1out|u:[{"type":"text","text":"Attached media from tool result:"},{"type":"image_url","image_url":{"url":"` + png + `"}}]`},
	} {
		id, events := opencode.Replay(c.f.Header, c.f.Entries, opencode.Place{Directory: "/w"})
		list, err := json.Marshal(events)
		if err != nil {
			t.Fatal(err)
		}
		again := read(t, string(list))
		if got := contents(t, again); strings.ReplaceAll(got, "(unknown)", "") != c.want || again.Header.ID != id || !strings.HasPrefix(id, "ses_") {
			t.Errorf("%s: the session %s says %s", name, id, got)
		}
		checkSession(t, again)
		// As events it is the same session, and opencode gets the same of it.
		here := opencode.Place{Directory: c.f.Header.CWD}
		_, events = opencode.Replay(c.f.Header, c.f.Entries, here)
		as := read(t, string(opencode.AsEvents(c.f.Header, c.f.Entries)))
		if asID, got := opencode.Replay(as.Header, as.Entries, here); asID != id || !slices.EqualFunc(got, events, slices.Equal[json.RawMessage]) {
			t.Errorf("%s: as events it is replayed as\n%s, want\n%s", name, got, events)
		}
	}
}
