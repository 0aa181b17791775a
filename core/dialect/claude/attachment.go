package claude

import (
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// noteOf returns what the agent tells the model of an attachment, or an empty
// string if it tells nothing or the type is unknown.
func noteOf(a jsjson.Value) string {
	get := func(name string) string { return text(member(a, name)) }
	switch get("type") {
	case "hook_success":
		event := get("hookEvent")
		if content := get("content"); content != "" && (event == "SessionStart" || event == "UserPromptSubmit") {
			return get("hookName") + " hook success: " + content
		}
	case "hook_additional_context":
		if content := texts(member(a, "content")); len(content) > 0 {
			return get("hookName") + " hook additional context: " + strings.Join(content, "\n")
		}
	case "file":
		return fileNote(a)
	case "edited_text_file":
		return "Note: " + get("filename") + " was modified, either by the user or by a linter. This change was intentional, so make sure to take it into account as you proceed (ie. don't revert it unless the user asks you to). Don't tell the user this, since they are already aware. Here are the relevant changes (shown with line numbers):\n" + get("snippet")
	case "nested_memory":
		content := member(a, "content")
		return "Contents of " + text(member(content, "path")) + ":\n\n" + text(member(content, "content"))
	case "agent_listing_delta":
		return listingNote(a)
	case "skill_listing":
		return "The following skills are available for use with the Skill tool:\n\n" + get("content")
	case "queued_command":
		return queuedNote(get("commandMode"), queuedText(member(a, "prompt")))
	}
	return ""
}

func texts(v jsjson.Value) (all []string) {
	if s, ok := v.Text(); ok {
		return []string{s}
	}
	_ = jsjson.Each(v, func(item jsjson.Value) {
		if s, ok := item.Text(); ok {
			all = append(all, s)
		}
	})
	return all
}

// fileNote says what a file that the user mentioned holds, as if it was read.
func fileNote(a jsjson.Value) string {
	content := member(a, "content")
	file := member(content, "file")
	if !member(content, "type").Is("text") {
		return ""
	}
	input := append(append([]byte(`{"file_path":`), jsjson.AppendString(nil, text(member(a, "filename")))...), '}')
	start := 1
	if f, ok := member(file, "startLine").Number(); ok && f >= 0 && f < 1<<31 {
		start = int(f)
	}
	var b strings.Builder
	b.WriteString("Called the Read tool with the following input: ")
	b.Write(input)
	b.WriteString("\nResult of calling the Read tool:\n")
	for i, line := range strings.Split(text(member(file, "content")), "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strconv.Itoa(start+i) + "\t" + line)
	}
	return b.String()
}

func listingNote(a jsjson.Value) string {
	lines := texts(member(a, "addedLines"))
	if len(lines) == 0 {
		return ""
	}
	note := "Available agent types for the Agent tool:\n" + strings.Join(lines, "\n")
	if member(a, "showConcurrencyNote").Truthy() {
		note += "\n\nWhen you launch multiple agents for independent work, send them in a single message with multiple tool uses so they run concurrently."
	}
	return note
}

// queuedText is the text of a prompt that waited, which may be blocks.
func queuedText(v jsjson.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	var all []string
	_ = jsjson.Each(v, func(item jsjson.Value) {
		if s, ok := member(item, "text").Text(); ok {
			all = append(all, s)
		}
	})
	return strings.Join(all, "\n")
}

func queuedNote(mode, prompt string) string {
	switch {
	case prompt == "":
		return ""
	case mode == "task-notification":
		return "[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated background-task event, NOT a message from the user.\nDo NOT interpret this as user acknowledgement, confirmation, or response to any pending question.\n\n" + prompt
	}
	return "The user sent a new message while you were working:\n" + prompt + "\n\nIMPORTANT: After completing your current task, you MUST address the user's message above. Do not ignore it."
}
