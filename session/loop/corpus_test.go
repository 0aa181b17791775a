package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// Every run and every compression that OpenRath recorded is made again from its inputs:
// header, rows and trailer are the same, but for the times, and for the mark of a run
// that was cut.
func TestCorpusRunsLikeOpenRath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dialecttest.Corpus(t), "openrath")
	for kind, again := range map[string]func(*testing.T, *core.File) *session.Session{"loop": runAgain, "compress": compressAgain} {
		names, _ := filepath.Glob(filepath.Join(dir, kind+"*"))
		names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".loaded.json") })
		if len(names) == 0 {
			t.Errorf("no %s in the corpus", kind)
		}
		for _, name := range names {
			t.Run(filepath.Base(name), func(t *testing.T) {
				t.Parallel()
				data, err := os.ReadFile(name)
				testkit.Must(t, err)
				file, err := openrath.Dialect{}.File(data)
				testkit.Must(t, err)
				have := again(t, file)
				testkit.Equal(t, "header", members(t, file.Header.Line), members(t, have.Header().Line))
				want := linesOf(t, file.Entries)
				if st, err := loop.StateOf(file.Entries); err == nil && rounds(st) > 0 {
					want[len(want)-1]["lineage_extras"] = []any{[]any{"loop.truncated", true}} // which OpenRath does not store
				}
				testkit.Equal(t, "rows and trailer", want, linesOf(t, have.Entries()))
				if n := bytes.Count(data, []byte("\n")); n != 1+len(file.Entries) {
					t.Errorf("%d lines of the file, %d entries", n, len(file.Entries))
				}
			})
		}
	}
}

// runAgain makes the run of a file again.
func runAgain(t *testing.T, file *core.File) *session.Session {
	want, err := loop.StateOf(file.Entries)
	testkit.Must(t, err)
	parents := file.Header.Parents
	user, agent := openrath.FromUserMessage(parents[0], want.Messages[0].Text), openrath.Session{ID: parents[1]}
	user.Sandbox.Backend = "local"
	l, err := loop.Start(t.Context(), newLog(), user, agent, loop.Config{Model: recorded(want, file.Entries), Tools: noops(want), MaxRounds: rounds(want)}, session.Options{ID: file.Header.ID})
	testkit.Must(t, err)
	if _, err := l.Run(t.Context()); (err != nil) == want.Closed {
		t.Errorf("the run ended with %v", err)
	}
	testkit.Must(t, l.Close(t.Context()))
	return l.Session()
}

// compressAgain makes the compression of a file again.
func compressAgain(t *testing.T, file *core.File) *session.Session {
	want, err := loop.StateOf(file.Entries)
	testkit.Must(t, err)
	parents, log := file.Header.Parents, newLog()
	m := &script{replies: []loop.Reply{{Text: " " + want.Messages[0].Text + "\n", Finish: loop.FinishStop, Usage: usageOf(file.Entries)}}}
	_, err = loop.Compress(t.Context(), log, openrath.FromUserMessage(parents[0], "go"), openrath.Session{ID: parents[1]}, loop.Compression{Model: m}, session.Options{ID: file.Header.ID})
	testkit.Must(t, err)
	s, err := session.Open(t.Context(), log, core.SessionID(file.Header.ID), session.Options{Access: session.ReadOnly})
	testkit.Must(t, err)
	return s
}

// recorded is the model of a recorded run. All of its usage is that of the first
// reply, because a file has the sum only.
func recorded(st *loop.State, es []core.Entry) *script {
	s := &script{}
	for _, m := range st.Messages {
		if m.Role != loop.Assistant {
			continue
		}
		r := loop.Reply{Text: m.Text, Calls: m.Calls, Finish: "pause"}
		if len(s.replies) == 0 {
			r.Usage = usageOf(es)
		}
		s.replies = append(s.replies, r)
	}
	s.replies[len(s.replies)-1].Finish = loop.FinishStop
	return s
}

// noops are the tools of a recorded run: they return what a row says.
func noops(st *loop.State) []loop.Tool {
	byName := map[string]loop.Tool{}
	for _, m := range st.Messages {
		if m.Role != loop.ToolResult {
			continue
		}
		fails := bytes.Contains([]byte(m.Text), []byte("tool_execution_exception"))
		byName[m.Name] = tool(m.Name, loop.Repeat, func(context.Context) (any, error) {
			if fails {
				return nil, &RuntimeError{"simulated dispatch failure"}
			}
			return map[string]any{"ok": true, "é": nil}, nil
		})
	}
	var tools []loop.Tool
	for _, t := range byName {
		tools = append(tools, t)
	}
	return tools
}

// rounds is the limit of a recorded run: if its last row is not a reply, it was cut
// there.
func rounds(st *loop.State) int {
	if st.Closed && st.Messages[len(st.Messages)-1].Role == loop.ToolResult {
		return st.Rounds
	}
	return 0
}

// usageOf returns the usage in the trailer, nil without one.
func usageOf(es []core.Entry) *loop.Usage {
	var last struct {
		Usage *loop.Usage `json:"cumulative_usage"`
	}
	_ = json.Unmarshal(es[len(es)-1].Line, &last) // a chunk has none
	return last.Usage
}

// members returns a line without the time, and without what the log adds.
func members(t *testing.T, line []byte) map[string]any {
	t.Helper()
	var m map[string]any
	testkit.Must(t, json.Unmarshal(line, &m))
	for _, name := range []string{"created_at", "closed_at", "loop"} {
		delete(m, name)
	}
	if m["record_type"] != "header" {
		delete(m, "id")
	}
	return m
}

func linesOf(t *testing.T, es []core.Entry) (lines []map[string]any) {
	t.Helper()
	for _, e := range es {
		lines = append(lines, members(t, e.Line))
	}
	return lines
}
