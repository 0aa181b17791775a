package opencode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/optional"
)

const failed = `,"parentID":"x","modelID":"m","providerID":"p","mode":"build","agent":"build","path":{"cwd":"/w/a","root":"/"},"cost":0,"tokens":{},"error":{"name":"APIError","data":{}}`

func TestExamineSaysWhatOpencodeSends(t *testing.T) {
	t.Parallel()
	done := strings.Replace(answer, `,"finish"`, `,"summary":true,"finish"`, 1)
	two := func() *script { return begin().asks("msg_1", "a").answers("msg_2", "b") }
	without := func(s *script, from, to int) *script {
		s.events = slices.Delete(s.events, from, to)
		return s
	}
	for name, c := range map[string]struct {
		s      *script
		counts string // messages, sent, summarized, branches; then faults; then sent after the repair
		join   bool
	}{
		"a whole session": {s: two(), counts: "2 2 0 0"},
		"a compaction": {
			s:      two().message("msg_3", "user", "").part("prt_3", "msg_3", `"type":"compaction","auto":false`).message("msg_4", "assistant", strings.Replace(done, `"x"`, `"msg_3"`, 1)).part("prt_4", "msg_4", `"type":"text","text":"s"`),
			counts: "4 2 2 0",
		},
		"a revert":           {s: reverted(two()), counts: "2 1 0 1 branch=join"},
		"a joined revert":    {s: reverted(two()), join: true, counts: "2 1 0 1 branch=join 2"},
		"a failed answer":    {s: two().message("msg_3", "assistant", failed).part("prt_3", "msg_3", `"type":"text","text":"half"`), counts: "3 2 0 0 failed-answer=copy 3"},
		"an error":           {s: two().message("msg_3", "assistant", failed), counts: "2 2 0 0"},
		"a lost message":     {s: without(two(), 3, 4), counts: "2 1 0 0 missing-events=copy missing-parent= 1"},
		"a gap":              {s: without(two(), 3, 5), counts: "1 1 0 0 "},
		"a gap inside":       {s: without(two().asks("msg_3", "c"), 3, 5), counts: "2 2 0 0 missing-events=copy 2"},
		"without a creation": {s: without(two(), 0, 1), counts: "2 2 0 0 missing-events="},
		"an answer without an end": {
			s:      two().message("msg_3", "assistant", strings.Replace(answer, `,"finish":"stop"`, "", 1)).part("prt_3", "msg_3", `"type":"text","text":""`),
			counts: "2 2 0 0 unfinished=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string][]byte{"d/events.json": []byte(c.s.text())}
			x, err := opencode.Dialect{}.Examine("d/events.json", files, c.join)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(x.Messages, x.Sent, x.Summarized, x.Branches)
			for _, f := range x.Faults {
				got += fmt.Sprintf(" %s=%s", f.Kind, f.Repair)
			}
			if x.Copy != nil {
				y, err := opencode.Dialect{}.Examine(x.File, map[string][]byte{x.File: x.Copy}, false)
				if err != nil || x.File != "d/export.json" {
					t.Fatal(x.File, err)
				}
				got += fmt.Sprint(" ", y.Sent)
			}
			if got != strings.TrimSpace(c.counts) {
				t.Errorf("got %s, want %s", got, c.counts)
			}
			if len(x.Append) > 0 {
				t.Error("lines would be added to a database")
			}
		})
	}
}

func reverted(s *script) *script {
	return s.row("session.updated.1", "info", s.info("New", `,"revert":{"messageID":"msg_2"}`))
}

var _ optional.Examiner = opencode.Dialect{}
