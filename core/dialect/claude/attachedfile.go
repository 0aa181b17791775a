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

// readResult is between that call and what it returned.
const readResult = "\nResult of calling the Read tool:\n"

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
	switch text(member(content, "type")) {
	case "text":
	case "notebook":
		return notebookNote(a)
	case "pdf":
		return a.readCall() + readResult + "PDF file read: " + a.get("filename") + " (" + fileSize(member(member(content, "file"), "originalSize")) + ")"
	default:
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
	b.WriteString(readResult)
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

// fileSize is a number of bytes as the agent tells it.
func fileSize(v jsjson.Value) string {
	n, _ := v.Number()
	if n < 1<<10 {
		return strconv.FormatFloat(n, 'f', -1, 64) + " bytes"
	}
	for _, unit := range []string{"KB", "MB", "GB"} {
		if n /= 1 << 10; n < 1<<10 || unit == "GB" {
			return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0") + unit
		}
	}
	return ""
}

// omittedNote is of a file that was read before a compaction and is too large to
// be shown again.
func omittedNote(a attachment) string {
	return "Note: " + a.get("filename") + " was read before the last conversation was summarized, but the contents are too large to include. Use Read tool if you need to access it."
}

// longPDFNote is of a mentioned PDF that is too long to be read at once.
func longPDFNote(a attachment) string {
	return "PDF file: " + a.get("filename") + " (" + string(a.member("pageCount")) + " pages, " + fileSize(a.member("fileSize")) +
		"). This PDF is too large to read all at once. You MUST use the Read tool with the pages parameter to read specific page ranges (e.g., pages: \"1-5\"). Do NOT call Read without the pages parameter or it will fail. Start by reading the first few pages to understand the structure, then read more as needed. Maximum 20 pages per request."
}

func directoryNote(a attachment) string {
	path := a.get("path")
	return "Called the Bash tool with the following input: " + string(object("command", "ls "+path, "description", "Lists files in "+path)) +
		"\nResult of calling the Bash tool:\n" + a.get("content")
}

func editedNote(a attachment) string {
	return "Note: " + a.get("filename") + " was modified, either by the user or by a linter. This change was intentional, so make sure to take it into account as you proceed (ie. don't revert it unless the user asks you to). Don't tell the user this, since they are already aware. Here are the relevant changes (shown with line numbers):\n" + a.get("snippet")
}
