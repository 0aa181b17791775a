package loop_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

var user, agent = openrath.FromUserMessage(userID, "go"), openrath.FromAgentPrompt(agentID, "be kind")

// RATH-29, RATH-31, RATH-32
func TestCompressMakesOneRow(t *testing.T) {
	t.Parallel()
	log := newLog()
	m := &script{replies: []loop.Reply{{Text: " short summary\n", Finish: loop.FinishLength, Usage: &loop.Usage{Prompt: 9, Completion: 3, Total: 12}}}}
	used := user
	used.Usage = &openrath.Usage{Prompt: 1000, Completion: 1, Total: 1001}
	made, err := loop.Compress(t.Context(), log, used, agent, loop.Compression{Model: m}, session.Options{})
	testkit.Must(t, err)
	q := m.requests[0]
	testkit.Equal(t, "request", "system user user", roles(q.Messages))
	testkit.Equal(t, "instruction", loop.CompressInstruction, q.Messages[2].Text)
	if !q.NoTools || q.Tools != nil {
		t.Errorf("the request has tools: %+v", q)
	}
	s, err := session.Open(t.Context(), log, core.SessionID(made.ID), session.Options{Access: session.ReadOnly})
	testkit.Must(t, err)
	testkit.Equal(t, "rows", []string{`user {"content": "short summary"}`}, payloads(t, s.Entries()))
	header, trailer := string(s.Header().Line), string(s.Entries()[1].Line)
	for text, want := range map[string]string{
		header + "": `"parent_session_ids": ["` + userID + `", "` + agentID + `"], "lineage_operator": "run_session_compress", "lineage_kind": "op_session_compress", "lineage_extras": [["compression.lossy", true], ["compression.rows_out", 1]]`,
		trailer:     `"final_chunk_count": 1, "cumulative_usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\ndoes not have %s", text, want)
		}
	}
	for given, want := range map[string]string{"  briefly\n": "briefly", " ": ""} {
		_, err := loop.Compress(t.Context(), newLog(), user, agent, loop.Compression{Model: m, Instruction: &given}, session.Options{})
		testkit.Must(t, err)
		testkit.Equal(t, "instruction", want, m.requests[len(m.requests)-1].Messages[2].Text)
	}
}

// RATH-53
func TestNoLineageIfRecordingIsOff(t *testing.T) {
	t.Parallel()
	log, ctx := newLog(), lineage.Recording(t.Context(), false)
	const none = `"parent_session_ids": [], "lineage_operator": "implicit", "lineage_kind": "unknown", "lineage_extras": []`
	headerOf := func(id string) string {
		s, err := session.Open(t.Context(), log, core.SessionID(id), session.Options{Access: session.ReadOnly})
		testkit.Must(t, err)
		return string(s.Header().Line)
	}
	m := &script{replies: []loop.Reply{says("short")}}
	made, err := loop.Compress(ctx, log, user, agent, loop.Compression{Model: m}, session.Options{})
	testkit.Must(t, err)
	if h := headerOf(made.ID); !strings.Contains(h, none) || made.Parents != nil {
		t.Errorf("Compress: %+v, header %s", made, h)
	}
	id := loop.NewID()
	_, err = loop.Start(ctx, log, user, agent, loop.Config{Model: m}, session.Options{ID: id})
	testkit.Must(t, err)
	if h := headerOf(id); !strings.Contains(h, none) {
		t.Errorf("Start: header %s", h)
	}
}

// RATH-30
func TestCompressRefusesOtherReplies(t *testing.T) {
	t.Parallel()
	id := loop.NewID()
	for name, r := range map[string]loop.Reply{
		"empty":  {Text: " \n", Finish: loop.FinishStop},
		"calls":  {Text: "x", Finish: loop.FinishStop, Calls: []loop.Call{call("1", "look")}},
		"finish": {Text: "x", Finish: loop.FinishTools},
		"none":   {Text: "x"},
	} {
		log := newLog()
		_, err := loop.Compress(t.Context(), log, user, agent, loop.Compression{Model: &script{replies: []loop.Reply{r}}}, session.Options{ID: id})
		if !errors.Is(err, loop.ErrNoSummary) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := log.Load(t.Context(), core.SessionID(id)); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s: there is a session: %v", name, err)
		}
	}
}
