package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// Runs that OpenRath recorded are made again from their inputs: rows, lineage and
// usage are the same.
func TestCorpusRunsLikeOpenRath(t *testing.T) {
	t.Parallel()
	dir := dialecttest.Corpus(t)
	names, _ := filepath.Glob(filepath.Join(dir, "openrath", "loop_*"))
	if len(names) == 0 {
		t.Fatal("no runs in the corpus")
	}
	for _, name := range names {
		if filepath.Ext(name) == ".json" {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			testkit.Must(t, err)
			file, err := openrath.Dialect{}.File(data)
			testkit.Must(t, err)
			again(t, file)
		})
	}
}

// again makes the run of a file again.
func again(t *testing.T, file *core.File) {
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
	have := l.Session()
	testkit.Equal(t, "rows", payloads(t, file.Entries), payloads(t, have.Entries()))
	testkit.Equal(t, "lineage", lineageOf(t, file.Header.Line), lineageOf(t, have.Header().Line))
	testkit.Equal(t, "usage", usageOf(t, file.Entries), usageOf(t, have.Entries()))
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
			var last struct {
				Usage *loop.Usage `json:"cumulative_usage"`
			}
			_ = json.Unmarshal(es[len(es)-1].Line, &last) // a chunk has none
			r.Usage = last.Usage
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

func lineageOf(t *testing.T, line []byte) map[string]any {
	var h map[string]any
	testkit.Must(t, json.Unmarshal(line, &h))
	delete(h, "created_at")
	return h
}

func usageOf(t *testing.T, es []core.Entry) any {
	last := es[len(es)-1]
	if !last.Aside {
		return nil
	}
	var trailer map[string]any
	if err := json.Unmarshal(last.Line, &trailer); err != nil {
		t.Fatal(err)
	}
	return []any{trailer["cumulative_usage"], trailer["final_chunk_count"]}
}
