package claude

import "strings"

func hookNote(a attachment) string {
	event := a.get("hookEvent")
	content := a.get("content")
	if content == "" || event != "SessionStart" && event != "UserPromptSubmit" {
		return ""
	}
	return a.get("hookName") + " hook success: " + content
}

func contextNote(a attachment) string {
	content := texts(a.member("content"))
	if len(content) == 0 {
		return ""
	}
	return a.get("hookName") + " hook additional context: " + strings.Join(content, "\n")
}

func blockedNote(a attachment) string {
	e := a.member("blockingError")
	return a.get("hookName") + " hook blocking error from command: \"" + text(member(e, "command")) + "\": " + text(member(e, "blockingError"))
}

func stoppedNote(a attachment) string {
	return a.get("hookName") + " hook stopped continuation: " + a.get("message")
}

// lateHookNote is what a hook said that ran beside the agent.
func lateHookNote(a attachment) string {
	response := a.member("response")
	var said []string
	for _, s := range []string{text(member(response, "systemMessage")), text(member(member(response, "hookSpecificOutput"), "additionalContext"))} {
		if s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, "\n")
}
