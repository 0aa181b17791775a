package claude

import (
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// readCall is the call by which the agent says that it read a file.
func (a attachment) readCall() string {
	return "Called the Read tool with the following input: " + string(object("file_path", a.get("filename")))
}

// object is the JSON of an object with these names and texts.
func object(namesAndTexts ...string) []byte {
	out := []byte{'{'}
	for i, s := range namesAndTexts {
		switch {
		case i == 0:
		case i%2 == 0:
			out = append(out, ',')
		default:
			out = append(out, ':')
		}
		out = jsjson.AppendString(out, s)
	}
	return append(out, '}')
}

// fileNote says what a file that the user mentioned holds, as if it was read.
func fileNote(a attachment) string {
	content := a.member("content")
	if !member(content, "type").Is("text") {
		return ""
	}
	file := member(content, "file")
	s := text(member(file, "content"))
	start := 1
	if f, ok := member(file, "startLine").Number(); ok && f >= 0 && f < 1<<31 {
		start = int(f)
	}
	var b strings.Builder
	b.WriteString(a.readCall())
	b.WriteString("\nResult of calling the Read tool:\n")
	if s == "" {
		b.WriteString("<system-reminder>Warning: the file exists but is shorter than the provided offset (" + strconv.Itoa(start) +
			"). The file has " + string(member(file, "totalLines")) + " lines.</system-reminder>")
		return b.String()
	}
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strconv.Itoa(start+i) + "\t" + line)
	}
	if a.member("truncated").Truthy() {
		b.WriteString("\nNote: The file " + a.get("filename") + " was too large and has been truncated to the first 2000 lines. Don't tell the user about this truncation. Use Read to read more of the file if you need.")
	}
	return b.String()
}

// omittedNote is of a file that was read before a compaction and is too large to
// be shown again.
func omittedNote(a attachment) string {
	return "Note: " + a.get("filename") + " was read before the last conversation was summarized, but the contents are too large to include. Use Read tool if you need to access it."
}

func directoryNote(a attachment) string {
	path := a.get("path")
	return "Called the Bash tool with the following input: " + string(object("command", "ls "+path, "description", "Lists files in "+path)) +
		"\nResult of calling the Bash tool:\n" + a.get("content")
}

func editedNote(a attachment) string {
	return "Note: " + a.get("filename") + " was modified, either by the user or by a linter. This change was intentional, so make sure to take it into account as you proceed (ie. don't revert it unless the user asks you to). Don't tell the user this, since they are already aware. Here are the relevant changes (shown with line numbers):\n" + a.get("snippet")
}
