package claude

import (
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
)

const sid = "11111111-2222-4333-8444-555555555555"

// at returns the time so many milliseconds into the session.
func at(ms int) string {
	return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
}

// say makes a line of the conversation.
func say(ms int, kind, uuid, parent, rest string) string {
	up := "null"
	if parent != "" {
		up = `"` + parent + `"`
	}
	return `{"parentUuid":` + up + `,"isSidechain":false,"type":"` + kind + `",` + rest + `,"uuid":"` + uuid + `","timestamp":"` + at(ms) + `","cwd":"/lab","sessionId":"` + sid + `"}`
}

func prompt(ms int, uuid, parent, text string) string {
	return say(ms, "user", uuid, parent, `"message":{"role":"user","content":"`+text+`"}`)
}

func answer(ms int, uuid, parent, id, content string) string {
	return say(ms, "assistant", uuid, parent, `"message":{"id":"`+id+`","type":"message","role":"assistant","model":"m","content":[`+content+`],"usage":{"input_tokens":3,"output_tokens":5}},"requestId":"r"`)
}

func words(s string) string { return `{"type":"text","text":"` + s + `"}` }

func call(id string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"Bash","input":{}}`
}

func result(ms int, uuid, parent, id string) string {
	return say(ms, "user", uuid, parent, `"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+id+`","content":"out of `+id+`"}]}`)
}

func leafLine(uuid string) string {
	return `{"type":"last-prompt","leafUuid":"` + uuid + `","sessionId":"` + sid + `"}`
}

// session packs a main file with these lines.
func session(t testing.TB, lines ...string) *core.File {
	t.Helper()
	f, err := Dialect{}.Pack("p/"+sid+".jsonl", []bundle.File{{Path: "p/" + sid + ".jsonl", Data: dialecttest.Text(lines...)}})
	if err != nil {
		t.Fatal(err)
	}
	return stored(t, f)
}

// sent is a short form of the context at leaf.
func sent(t testing.TB, f *core.File, leaf core.Leaf) string {
	t.Helper()
	raw, err := Dialect{}.Context(f.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range dialecttest.Parsed(t, raw).(map[string]any)["messages"].([]any) {
		m := m.(map[string]any)
		var parts []string
		if s, ok := m["content"].(string); ok {
			parts = append(parts, s)
		}
		blocks, _ := m["content"].([]any)
		for _, b := range blocks {
			b := b.(map[string]any)
			for _, name := range []string{"text", "id", "tool_use_id", "thinking"} {
				if s, ok := b[name].(string); ok {
					parts = append(parts, strings.TrimSpace(s))
				}
			}
		}
		out = append(out, m["role"].(string)[:1]+": "+strings.Join(parts, ", "))
	}
	return strings.Join(out, " | ")
}
