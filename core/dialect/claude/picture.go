package claude

import (
	"slices"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// pictures returns the blocks of an attachment that is not only text, and whether
// it is a file.
func (a attachment) pictures() (all []block, isFile bool) {
	switch a.get("type") {
	case "file":
		content := a.member("content")
		switch text(member(content, "type")) {
		case "image":
			file := member(content, "file")
			all = []block{pictureBlock(text(member(file, "base64")), text(member(file, "type")))}
		case "notebook":
			all = notebookBlocks(a)
			if !slices.ContainsFunc(all, func(b block) bool { return !b.isText() }) {
				return nil, true
			}
			for i, b := range all {
				if b.isText() {
					all[i] = reminder(text(b.text))
				}
			}
		}
		return all, true
	case "queued_command":
		if prompt := a.member("prompt"); prompt.Kind() == '[' {
			eachBlock(prompt, func(b block) {
				if !b.isText() {
					all = append(all, b)
				}
			})
		}
	}
	return all, false
}

// pictureBlock makes a block of a picture that is encoded as data.
func pictureBlock(data, mediaType string) block {
	source := object("type", "base64", "data", data, "media_type", mediaType)
	whole := append(append([]byte(`{"type":"image","source":`), source...), '}')
	return block{whole: whole, kind: jsjson.Value(`"image"`)}
}

// reminder makes a block of a text that the agent says, not the user.
func reminder(s string) block { return textBlock("<system-reminder>\n" + s + "\n</system-reminder>") }

// show puts pictures and what is said of them before what the user says, but after
// results of calls. What is said of a file is part of the result before it, or a
// separate message if it is the first of the message.
func (b *request) show(s string, pictures []block, isFile bool) {
	if i := len(b.messages) - 1; i < 0 || b.messages[i].role != "user" {
		b.messages = append(b.messages, message{role: "user"})
	}
	m := &b.messages[len(b.messages)-1]
	at := 0
	for i := range m.blocks {
		if m.blocks[i].kind.Is("tool_result") {
			at = i + 1
		}
	}
	at = max(at, m.shown)
	said := reminder(s)
	switch {
	case s == "":
	case isFile && at == 0:
		m.before = said.text
	case isFile && m.blocks[at-1].isPlainResult():
		m.blocks = slices.Clone(m.blocks)
		m.blocks[at-1] = m.blocks[at-1].saying(said)
	default:
		pictures = append([]block{said}, pictures...)
	}
	if last := len(pictures) - 1; at < len(m.blocks) && m.blocks[at].isText() && pictures[last].isText() {
		pictures[last] = pictures[last].broken()
	}
	m.blocks = slices.Insert(slices.Clip(m.blocks), at, pictures...)
	m.shown, m.plain = at+len(pictures), false
}

// isPlainResult reports whether b is the result of a call and has a text.
func (b block) isPlainResult() bool {
	return b.kind.Is("tool_result") && member(b.whole, "content").Kind() == '"'
}

// saying returns b, a plain result, with what is said after it.
func (b block) saying(said block) block {
	s := text(said.text)
	if old := text(member(b.whole, "content")); old != "" {
		s = old + "\n\n" + s
	}
	b.whole = jsonl.WithText(b.whole, "content", s)
	return b
}
