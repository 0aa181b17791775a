package acp_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/acp"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/item"
)

var dialect acp.Dialect

const header = `{"type":"acp-session","version":1,"id":"acp-one-session","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/lab"}`

func update(id string, updates ...string) string {
	var ms []string
	for _, u := range updates {
		ms = append(ms, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":`+u+`}}`)
	}
	return `{"type":"update","messages":[` + strings.Join(ms, ",") + `],"id":"` + id + `","timestamp":"2026-01-02T03:04:06.000Z"}`
}

func prompt(id, text string) string {
	return `{"type":"prompt","messages":[{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"` + text +
		`"},{"type":"resource_link","name":"f","uri":"file:///f"}]}}],"id":"` + id + `","timestamp":"2026-01-02T03:04:05.500Z"}`
}

func says(text string) string {
	return `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`
}

var lines = []string{
	prompt("1", "hello"),
	update("2", `{"sessionUpdate":"available_commands_update","availableCommands":[]}`),
	update("3", `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."}}`),
	update("4", says("I "), says("loo")),
	update("5", says("k.")),
	update("6", `{"sessionUpdate":"tool_call","toolCallId":"c","title":"List files","kind":"execute","rawInput":{}}`),
	update("7", `{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress","rawInput":{"command":"ls"},"content":[{"type":"content","content":{"type":"text","text":"a.txt"}}]}`),
	update("8", `{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`),
	update("9", says("Done.")),
	`{"type":"answer","messages":[{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}],"id":"10","timestamp":"2026-01-02T03:04:07.000Z"}`,
	`{"type":"agent","agent":"a","session":"own","host":"h","id":"11","timestamp":"2026-01-02T03:04:07.000Z"}`,
}

func TestReplayIsWhatTheEditorSaw(t *testing.T) {
	t.Parallel()
	es := dialecttest.Entries(t, dialect, lines...)
	shown := acp.Replay(frameRows(es))
	if len(shown) != 10 || string(shown[0]) != `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hello"}}` || !strings.Contains(string(shown[4]), "loo") {
		t.Errorf("shown are %d updates: %s", len(shown), bytes.Join(raw(shown), []byte("\n")))
	}
	echo := update("x", `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hello, as the agent saw it"}}`)
	es = dialecttest.Entries(t, dialect, lines[0], lines[3], echo, prompt("y", "next"))
	shown = acp.Replay(es)
	if n := len(shown); n != 5 || strings.Contains(string(shown[0]), "hello") || !strings.Contains(string(shown[2]), "as the agent") {
		t.Errorf("with an echo, shown are %d updates: %s", n, bytes.Join(raw(shown), []byte("\n")))
	}
}

func raw(ms []json.RawMessage) (bs [][]byte) {
	for _, m := range ms {
		bs = append(bs, m)
	}
	return bs
}

func frameRows(es []core.Entry) (rows []core.Entry) {
	for _, e := range es {
		if !e.Aside {
			rows = append(rows, e)
		}
	}
	return rows
}

func TestConversationIsReadAsMessages(t *testing.T) {
	t.Parallel()
	es := dialecttest.Entries(t, dialect, lines...)
	its, err := dialect.ReadAll(core.Header{}, es, core.Leaf{})
	if err != nil || len(its) != 4 {
		t.Fatalf("%d items, %v: %+v", len(its), err, its)
	}
	var texts []string
	for i := range its {
		texts = append(texts, its[i].Plain())
	}
	want := "user: hello\nfile:///f" + "\n" + `assistant: I look.` + "\n" + `[call execute {"command":"ls"}]` + "\n" + "tool: [result execute] a.txt\nassistant: Done."
	if got := strings.Join(texts, "\n"); got != want {
		t.Errorf("read as\n%s\nwant\n%s", got, want)
	}
	if b := its[1].Blocks; b[0].Kind != item.BlockThinking || b[0].Text != "Hm." {
		t.Errorf("the thought is %+v", b[0])
	}
}

func TestFileIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	data := dialecttest.Text(append([]string{header}, lines...)...)
	f, err := dialect.File(data)
	if err != nil || !f.Exact || len(f.Entries) != len(lines) || !dialect.Detect(data) || dialect.Detect([]byte(`{"type":"session"}`)) {
		t.Fatalf("%+v, %v", f, err)
	}
	sum := dialect.Summary(f.Header, f.Entries)
	if sum.First != "hello" || sum.Messages != 2 || sum.Modified != "2026-01-02T03:04:07.000Z" || acp.LastAgent(f.Entries).Session != "own" {
		t.Errorf("the summary is %+v", sum)
	}
	named, err := dialect.Fill(dialect.NewName("A <name>"), core.Fields{ID: "n", Time: "2026-01-02T03:04:08.000Z"})
	if err != nil || dialect.Check(named.Line) != nil {
		t.Fatalf("%s, %v", named.Line, err)
	}
	info, err := dialect.Info(f.Header, append(f.Entries, named), core.Leaf{})
	if err != nil || info.Name == nil || *info.Name != "A <name>" || *info.LeafID != "n" || info.CWD != "/lab" {
		t.Errorf("info is %+v, %v", info, err)
	}
}

func TestWrittenItemsAreReadAgain(t *testing.T) {
	t.Parallel()
	said := []item.Item{
		{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockText, Text: "x <y>"}, {Kind: item.BlockImage, MIME: "image/png", Data: "AAEC"}}},
		{Kind: item.Message, Role: item.RoleAssistant, Blocks: []item.Block{
			{Kind: item.BlockThinking, Text: "Hm."}, {Kind: item.BlockText, Text: "I look."}, {Kind: item.BlockCall, ID: "c", Name: "bash", Args: []byte(`{"command":"ls"}`)},
		}},
		{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{{Kind: item.BlockResult, ID: "c", Name: "bash", Failed: true, Blocks: []item.Block{{Kind: item.BlockText, Text: "no"}}}}},
	}
	var es []core.Entry
	for _, it := range said {
		line, lost := dialect.Write(it)
		if len(lost) > 0 || dialect.Check(line) != nil {
			t.Errorf("%s lost %v, %v", line, lost, dialect.Check(line))
		}
		es = append(es, dialecttest.Entries(t, dialect, string(line))...)
	}
	got, err := dialect.ReadAll(core.Header{}, es, core.Leaf{})
	if err != nil || string(encoded(t, got)) != string(encoded(t, said)) {
		t.Errorf("%v\n%s\nwant\n%s", err, encoded(t, got), encoded(t, said))
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOtherLinesAreRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"append","length":1,"text":"x"}`, `{"type":"prompt"}`, `{"type":"prompt","messages":[{},{}]}`, `{"type":"update","messages":[]}`,
		`{"type":"update","messages":[7]}`, `{"type":"agent","messages":[{}]}`, `7`,
	} {
		if dialect.Check([]byte(line)) == nil {
			t.Errorf("%s is taken", line)
		}
	}
	for _, line := range append(lines, `{"type":"agent"}`) {
		if err := dialect.Check([]byte(line)); err != nil {
			t.Error(err)
		}
	}
}

func FuzzEntriesAreRead(f *testing.F) {
	for _, line := range lines {
		f.Add([]byte(line))
	}
	f.Fuzz(func(_ *testing.T, line []byte) {
		e, err := dialect.Entry(line)
		if err != nil {
			return
		}
		es := []core.Entry{e, e}
		_, _ = dialect.ReadAll(core.Header{}, es, core.Leaf{})
		_, _ = dialect.Context(es, core.Leaf{})
		_ = dialect.Summary(core.Header{}, es)
		_ = dialect.Read(e)
	})
}

// encoding/json reads null as any struct.
func TestNullIsNotFilled(t *testing.T) {
	t.Parallel()
	e, err := dialect.Fill([]byte("null"), core.Fields{ID: "a", Time: "2026-01-02T03:04:05.000Z"})
	if err != nil || string(e.Line) != "null" {
		t.Errorf("%s, %v; want null as it is", e.Line, err)
	}
}
