package claude

import (
	"strings"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// An attachment is what the agent adds to what the user said.
type attachment struct{ v jsjson.Value }

func (a attachment) member(name string) jsjson.Value { return member(a.v, name) }
func (a attachment) get(name string) string          { return text(a.member(name)) }

// notes are what the agent tells the model of an attachment, by its type. It
// tells nothing of attachments that have no note, or an empty one.
var notes = map[string]func(attachment) string{
	"agent_listing_delta":       agentsNote,
	"agent_mention":             mentionNote,
	"async_hook_response":       lateHookNote,
	"budget_usd":                budgetNote,
	"compact_file_reference":    omittedNote,
	"date_change":               dateNote,
	"deferred_tools_delta":      toolsNote,
	"directory":                 directoryNote,
	"edited_text_file":          editedNote,
	"file":                      fileNote,
	"hook_additional_context":   contextNote,
	"hook_blocking_error":       blockedNote,
	"hook_stopped_continuation": stoppedNote,
	"hook_success":              hookNote,
	"mcp_instructions_delta":    serversNote,
	"nested_memory":             memoryNote,
	"output_style":              styleNote,
	"pdf_reference":             longPDFNote,
	"plan_mode":                 planNote,
	"plan_mode_exit":            planExitNote,
	"queued_command":            queuedNote,
	"skill_listing":             skillsNote,
	"task_reminder":             tasksNote,
	"ultrathink_effort":         thinkNote,
	"workflow_keyword_request":  workflowNote,
}

// addAttachment adds what the agent tells of an attachment: a note, or pictures
// with a text.
func (b *request) addAttachment(a attachment) {
	if pictures, alone := a.pictures(); len(pictures) > 0 {
		var s string
		if alone {
			s = a.readCall()
		} else {
			s = queuedNote(a)
		}
		b.show(s, pictures, alone)
		return
	}
	if f := notes[a.get("type")]; f != nil {
		if note := f(a); note != "" {
			b.notes = append(b.notes, note)
		}
	}
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

func agentsNote(a attachment) string {
	var parts []string
	if lines := texts(a.member("addedLines")); len(lines) > 0 {
		title := "New agent types are now available for the Agent tool:\n"
		if initial := a.member("isInitial"); initial == nil || initial.Truthy() {
			title = "Available agent types for the Agent tool:\n"
			if a.member("showConcurrencyNote").Truthy() {
				lines = append(lines, "\nWhen you launch multiple agents for independent work, send them in a single message with multiple tool uses so they run concurrently.")
			}
		}
		parts = append(parts, title+strings.Join(lines, "\n"))
	}
	if gone := texts(a.member("removedTypes")); len(gone) > 0 {
		parts = append(parts, "The following agent types are no longer available:\n- "+strings.Join(gone, "\n- ")+"\n\n"+ambient)
	}
	return strings.Join(parts, "\n\n")
}

const ambient = "This is ambient context — do not narrate it to the user unless they ask or it is directly relevant to their request."

func skillsNote(a attachment) string {
	return "The following skills are available for use with the Skill tool:\n\n" + a.get("content")
}

func toolsNote(a attachment) string {
	lines := texts(a.member("addedLines"))
	if len(lines) == 0 {
		return ""
	}
	note := "The following deferred tools are now available via ToolSearch. Their schemas are NOT loaded — calling them directly will fail with InputValidationError. Use ToolSearch with query \"select:<name>[,<name>...]\" to load tool schemas before calling them:\n" + strings.Join(lines, "\n")
	if servers := texts(a.member("pendingMcpServers")); len(servers) > 0 {
		note += "\n\nThe following MCP servers are still connecting — their tools (typically named mcp__<server>__*) are not yet available but will appear shortly:\n" + strings.Join(servers, "\n") +
			"\n\nIf the user's request might be served by one of these servers (even if they didn't name it explicitly), call ToolSearch with a relevant keyword — ToolSearch will wait for connecting servers and search their tools once available. Do not report a capability as unavailable without first searching."
	}
	return note
}

func serversNote(a attachment) string {
	blocks := texts(a.member("addedBlocks"))
	if len(blocks) == 0 {
		return ""
	}
	return "# MCP Server Instructions\n\nThe following MCP servers have provided instructions for how to use their tools and resources:\n\n" + strings.Join(blocks, "\n\n")
}

func mentionNote(a attachment) string {
	return "The user has expressed a desire to invoke the agent \"" + a.get("agentType") + "\". Please invoke the agent appropriately, passing in the required context to it. "
}

func memoryNote(a attachment) string {
	content := a.member("content")
	return "Contents of " + text(member(content, "path")) + ":\n\n" + text(member(content, "content"))
}

func styleNote(a attachment) string {
	return a.get("style") + " output style is active. Remember to follow the specific guidelines for this style."
}

func dateNote(a attachment) string {
	return "The date has changed. Today's date is now " + a.get("newDate") + ". DO NOT mention this to the user explicitly because they are already aware."
}

func budgetNote(a attachment) string {
	amount := func(name string) string { return "$" + string(a.member(name)) }
	return "USD budget: " + amount("used") + "/" + amount("total") + "; " + amount("remaining") + " remaining"
}

func thinkNote(attachment) string {
	return "The user included the keyword \"ultrathink\", requesting deeper reasoning on this turn. Reason as thoroughly as the task warrants."
}

func workflowNote(attachment) string {
	return "The user included the keyword \"ultracode\", opting this turn into multi-agent orchestration — use the Workflow tool to fulfill the request."
}
