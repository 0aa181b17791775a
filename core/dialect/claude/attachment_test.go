package claude

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
)

func attached(ms int, uuid, parent, attachment string) string {
	return say(ms, "attachment", uuid, parent, `"attachment":`+attachment)
}

// notebook makes a notebook of three cells. more is the rest of the last.
func notebook(more string) string {
	return `{"type":"file","filename":"/n.ipynb","content":{"type":"notebook","file":{"cells":[` + cells + more + `}]}}}`
}

func queued(prompt string) string {
	return `{"type":"queued_command","commandMode":"prompt","prompt":` + prompt + `}`
}

const (
	dot      = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`
	dotFile  = `{"type":"file","filename":"/d.png","content":{"type":"image","file":{"base64":"BB==","type":"image/png"}}}`
	failed   = `{"type":"hook_non_blocking_error","hookName":"Stop","hookEvent":"Stop","stderr":"oops"}`
	cells    = `{"cellType":"markdown","source":"m","cell_id":"a"},{"cellType":"code","source":"1","cell_id":"b","language":"python","outputs":[{"output_type":"stream","text":"one\n"}]},{"cellType":"code","source":"2","cell_id":"c","language":"R"`
	plot     = `,"outputs":[{"output_type":"display_data","text":"<fig>","image":{"image_data":"CC==","media_type":"image/png"}},{"output_type":"stream","text":"end"}]`
	textFile = `{"type":"file","filename":"/f","content":{"type":"text","file":{"content":"x","startLine":3,"totalLines":9}}}`
)

func TestContextHasTheNoteOfEachAttachment(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ attachment, want string }{
		"new and lost agents": {
			`{"type":"agent_listing_delta","addedLines":["- b: new"],"removedTypes":["a","c"],"isInitial":false,"showConcurrencyNote":true}`,
			"New agent types are now available for the Agent tool:\n- b: new\n\nThe following agent types are no longer available:\n- a\n- c\n\n" + ambient,
		},
		"the first agents":  {`{"type":"agent_listing_delta","addedLines":["- b: new"],"removedTypes":[],"isInitial":true}`, "Available agent types for the Agent tool:\n- b: new"},
		"a mentioned agent": {`{"type":"agent_mention","agentType":"digger"}`, `The user has expressed a desire to invoke the agent "digger". Please invoke the agent appropriately, passing in the required context to it. `},
		"a notebook": {
			notebook(""), "Called the Read tool with the following input: {\"file_path\":\"/n.ipynb\"}\nResult of calling the Read tool:\n" +
				`[{"text":"<cell id=\"a\"><cell_type>markdown</cell_type>m</cell id=\"a\">\n<cell id=\"b\">1</cell id=\"b\">\n\none\n\n<cell id=\"c\"><language>R</language>2</cell id=\"c\">","type":"text"}]`,
		},
		"a PDF":                       {`{"type":"file","filename":"/d.pdf","content":{"type":"pdf","file":{"base64":"AA==","originalSize":5000}}}`, "Called the Read tool with the following input: {\"file_path\":\"/d.pdf\"}\nResult of calling the Read tool:\nPDF file read: /d.pdf (4.9KB)"},
		"a small PDF":                 {`{"type":"file","filename":"/d.pdf","content":{"type":"pdf","file":{"base64":"AA==","originalSize":182}}}`, "PDF file read: /d.pdf (182 bytes)"},
		"a long PDF":                  {`{"type":"pdf_reference","filename":"/d.pdf","pageCount":15,"fileSize":10485760}`, "PDF file: /d.pdf (15 pages, 10MB). This PDF is too large"},
		"a directory":                 {`{"type":"directory","path":"/p/\"q","content":"a\nb"}`, "Called the Bash tool with the following input: {\"command\":\"ls /p/\\\"q\",\"description\":\"Lists files in /p/\\\"q\"}\nResult of calling the Bash tool:\na\nb"},
		"a part of a file":            {textFile, "Called the Read tool with the following input: {\"file_path\":\"/f\"}\nResult of calling the Read tool:\n3\tx"},
		"an empty file":               {`{"type":"file","filename":"/f","content":{"type":"text","file":{"content":"","startLine":1,"totalLines":1}}}`, "Called the Read tool with the following input: {\"file_path\":\"/f\"}\nResult of calling the Read tool:\n<system-reminder>Warning: the file exists but is shorter than the provided offset (1). The file has 1 lines.</system-reminder>"},
		"a file too large to show":    {`{"type":"compact_file_reference","filename":"/f"}`, "Note: /f was read before the last conversation was summarized, but the contents are too large to include. Use Read tool if you need to access it."},
		"a hook that blocks":          {`{"type":"hook_blocking_error","hookName":"PostToolUse:Bash","blockingError":{"blockingError":"not so","command":"./x"}}`, `PostToolUse:Bash hook blocking error from command: "./x": not so`},
		"a hook that ends the turn":   {`{"type":"hook_stopped_continuation","hookName":"Stop","message":"enough"}`, "Stop hook stopped continuation: enough"},
		"a hook that answers late":    {`{"type":"async_hook_response","response":{"systemMessage":"one","hookSpecificOutput":{"additionalContext":"two"}}}`, "one\ntwo"},
		"a hook whose words are lost": {`{"type":"hook_success","hookName":"Stop","hookEvent":"Stop","content":"bye"}`, ""},
		"the instructions of servers": {`{"type":"mcp_instructions_delta","addedBlocks":["## s\nuse"]}`, "# MCP Server Instructions\n\nThe following MCP servers have provided instructions for how to use their tools and resources:\n\n## s\nuse"},
		"a budget":                    {`{"type":"budget_usd","used":0.25,"total":2,"remaining":1.75}`, "USD budget: $0.25/$2; $1.75 remaining"},
		"a style":                     {`{"type":"output_style","style":"Terse"}`, "Terse output style is active. Remember to follow the specific guidelines for this style."},
		"a plan that continues":       {`{"type":"plan_mode","reminderType":"sparse","planFilePath":"/plan.md"}`, "(/plan.md)"},
		"a list of tasks":             {`{"type":"task_reminder","content":[{"id":"7","subject":"dig","status":"pending"},{"id":"8","subject":"fill","status":"in_progress"}]}`, "- ignore if not applicable.\n\n\nHere are the existing tasks:\n\n#7. [pending] dig\n#8. [in_progress] fill"},
		"a wish to think":             {`{"type":"ultrathink_effort"}`, "Reason as thoroughly as the task warrants."},
		"an unknown type":             {`{"type":"zz","content":"x"}`, ""},
		"no object":                   {`[1]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := session(t, prompt(0, "a", "", "one"), attached(1, "x", "a", test.attachment), answer(2, "b", "x", "m", words("hi")))
			got := sent(t, f, core.Leaf{})
			note, ok := strings.CutPrefix(got, "u: one | s: ")
			if !ok {
				if test.want != "" || got != "u: one | a: hi" {
					t.Errorf("got %q", got)
				}
				return
			}
			if note = strings.TrimSuffix(note, " | a: hi"); note != test.want && (test.want == "" || !strings.Contains(note, test.want)) {
				t.Errorf("\n got %q\nwant %q", note, test.want)
			}
		})
	}
}

// Pictures are in messages of the user, between the results of calls and what the
// user said.
func TestContextHasPicturesOfAttachments(t *testing.T) {
	t.Parallel()
	turn := []string{prompt(0, "a", "", "one"), answer(1, "b", "a", "m", call("t1")), result(2, "c", "b", "t1")}
	image := func(data string) map[string]any {
		return map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": data}}
	}
	said := func(s string) string { return "<system-reminder>\n" + s + "\n</system-reminder>" }
	textOf := func(s string) map[string]any { return map[string]any{"type": "text", "text": s} }
	resultOf := func(s string) map[string]any {
		return map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": s}
	}
	read := said(`Called the Read tool with the following input: {"file_path":"/d.png"}`)
	look := said("The user sent a new message while you were working:\nlook\n\nIMPORTANT: After completing your current task, you MUST address the user's message above. Do not ignore it.")
	for name, test := range map[string]struct {
		attachments []string
		prompt      bool // they follow a prompt, not a result
		want        []any
	}{
		"a waiting prompt":           {[]string{queued(`[` + words("look") + `,` + dot + `]`)}, false, []any{resultOf("out of t1"), textOf(look), image("AA==")}},
		"a waiting prompt of a turn": {[]string{queued(`[` + dot + `,` + words("look") + `]`)}, true, []any{textOf(look), image("AA=="), textOf("two")}},
		"a waiting picture":          {[]string{queued(`[` + dot + `]`)}, false, []any{resultOf("out of t1"), image("AA==")}},
		"a file":                     {[]string{dotFile}, false, []any{resultOf("out of t1\n\n" + read), image("BB==")}},
		"a notebook of a prompt": {
			[]string{notebook(plot)},
			true,
			[]any{
				said(`Called the Read tool with the following input: {"file_path":"/n.ipynb"}`),
				textOf(said("<cell id=\"a\"><cell_type>markdown</cell_type>m</cell id=\"a\">\n<cell id=\"b\">1</cell id=\"b\">\n\none\n\n<cell id=\"c\"><language>R</language>2</cell id=\"c\">\n\n<fig>")),
				image("CC=="), textOf(said("\nend") + "\n"), textOf("two"),
			},
		},
		"two files":                   {[]string{dotFile, dotFile}, false, []any{resultOf("out of t1\n\n" + read), image("BB=="), textOf(read), image("BB==")}},
		"a file of a prompt":          {[]string{dotFile}, true, []any{read, image("BB=="), textOf("two")}},
		"a file and a waiting prompt": {[]string{queued(`[` + words("look") + `,` + dot + `]`), dotFile}, true, []any{textOf(look), image("AA=="), textOf(read), image("BB=="), textOf("two")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, parent := turn, "c"
			if test.prompt {
				lines, parent = append(turn[:3:3], answer(3, "d", "c", "m2", words("ho")), prompt(4, "e", "d", "two")), "e"
			}
			for i, a := range test.attachments {
				id := string(rune('p' + i))
				lines = append(lines[:len(lines):len(lines)], attached(10+i, id, parent, a))
				parent = id
			}
			f := session(t, append(lines[:len(lines):len(lines)], answer(20, "z", parent, "m9", words("done")))...)
			raw, err := Dialect{}.Context(f.Entries, core.Leaf{})
			if err != nil {
				t.Fatal(err)
			}
			all := dialecttest.Parsed(t, raw).(map[string]any)["messages"].([]any)
			from := 2
			if test.prompt {
				from = 4
			}
			var got []any
			for _, m := range all[from : len(all)-1] {
				if s, ok := m.(map[string]any)["content"].(string); ok {
					got = append(got, s)
				} else {
					got = append(got, m.(map[string]any)["content"].([]any)...)
				}
			}
			dialecttest.Compare(t, "content", got, dialecttest.Parsed(t, encoded(t, test.want)))
		})
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

func TestContextEndsAsTheAgentWouldResume(t *testing.T) {
	t.Parallel()
	local := func(ms int, uuid, parent string) string {
		return say(ms, "system", uuid, parent, `"subtype":"local_command","content":"out"`)
	}
	a, b := prompt(0, "a", "", "one"), answer(1, "b", "a", "m1", words("hi"))
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"a hook after an answer":          {[]string{a, b, attached(2, "c", "b", failed)}, "u: one | a: hi"},
		"a note after an answer":          {[]string{a, b, attached(2, "c", "b", textFile)}, "u: one | a: hi"},
		"a hook after a prompt":           {[]string{a, attached(2, "c", "a", failed)}, "u: one, Continue from where you left off. | a: No response requested."},
		"a local command":                 {[]string{a, b, prompt(2, "c", "b", "cmd"), local(3, "d", "c")}, "u: one | a: hi | u: cmd | a: No response requested. | u: out"},
		"two local commands":              {[]string{a, prompt(2, "c", "a", "cmd"), local(3, "d", "c"), prompt(4, "e", "d", "cmd2"), local(5, "f", "e")}, "u: one, cmd, out, cmd2 | a: No response requested. | u: out"},
		"a local command after an answer": {[]string{a, b, local(3, "d", "b")}, "u: one | a: hi | u: out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sent(t, session(t, test.lines...), core.Leaf{}); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
}
