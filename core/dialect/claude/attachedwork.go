package claude

import (
	"strings"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// queuedNote is a prompt that the user gave while the agent worked, or a report
// of work in the background.
func queuedNote(a attachment) string {
	prompt := queuedText(a.member("prompt"))
	switch {
	case prompt == "":
		return ""
	case a.member("commandMode").Is("task-notification"):
		return "[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated background-task event, NOT a message from the user.\nDo NOT interpret this as user acknowledgement, confirmation, or response to any pending question.\n\n" + prompt
	}
	return "The user sent a new message while you were working:\n" + prompt + "\n\nIMPORTANT: After completing your current task, you MUST address the user's message above. Do not ignore it."
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

// tasksNote reminds the model of its list of tasks.
func tasksNote(a attachment) string {
	note := "The task tools haven't been used recently. If you're working on tasks that would benefit from tracking progress, consider using TaskCreate to add new tasks and TaskUpdate to update task status (set to in_progress when starting, completed when done). Also consider cleaning up the task list if it has become stale. Only use these if relevant to the current work. This is just a gentle reminder - ignore if not applicable.\n"
	var lines []string
	_ = jsjson.Each(a.member("content"), func(task jsjson.Value) {
		get := func(name string) string { return text(member(task, name)) }
		lines = append(lines, "#"+get("id")+". ["+get("status")+"] "+get("subject"))
	})
	if len(lines) == 0 {
		return note
	}
	return note + "\n\nHere are the existing tasks:\n\n" + strings.Join(lines, "\n")
}

// planNote reminds the model that it only plans. What the agent says at first is
// not here: it is long, and made for the host.
func planNote(a attachment) string {
	if !a.member("reminderType").Is("sparse") {
		return ""
	}
	return "Plan mode still active (see full instructions earlier in conversation). Read-only except plan file (" + a.get("planFilePath") +
		"). Follow 5-phase workflow. End turns with AskUserQuestion (for clarifications) or ExitPlanMode (for plan approval). Never ask about plan approval via text or AskUserQuestion."
}

func planExitNote(a attachment) string {
	note := "## Exited Plan Mode\n\nYou have exited plan mode. You can now make edits, run tools, and take actions."
	if a.member("planExists").Truthy() {
		note += " The plan file is located at " + a.get("planFilePath") + " if you need to reference it."
	}
	return note
}
