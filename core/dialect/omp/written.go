package omp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// What omp keeps of a line in its file.
const (
	longestText = 500_000 // UTF-16 units of a string
	notice      = `\n\n[Session persistence truncated large content]`
	noticeUnits = 47
	imageText   = 1024 // base64 characters from which on an image is kept apart
	refPrefix   = "blob:sha256:"
)

// AsWritten returns line as omp writes it to its file, which is line itself for
// nearly all lines. omp truncates a string of more than 500,000 UTF-16 units,
// and says so at its end, unless it is part of something that a provider signed
// or sealed. It stores images separately under the digest of their bytes. It
// leaves out jsonlEvents, signatures that the provider's own history repeats,
// and what an MCP tool returned that went to a file. A line that changes
// becomes what JSON.stringify returns for it. The log keeps lines complete:
// AsWritten is for comparing.
func (Dialect) AsWritten(line []byte) []byte {
	if !mayDiffer(line) {
		return line
	}
	plain, err := jsjson.Append(nil, line)
	if err != nil {
		return line
	}
	n, err := readNode(plain)
	if err != nil {
		return line
	}
	changed := n.dropRepeated()
	changed = n.dropSpilled() || changed
	if changed = n.shorten("") || changed; !changed {
		return line
	}
	return n.appendTo(nil)
}

// mayDiffer is a quick look for what makes omp change a line.
func mayDiffer(line []byte) bool {
	if len(line) > longestText {
		return true
	}
	for _, word := range []string{"jsonlEvents", "image", "frames", "thinkingSignature", "structuredContent", `\u`} {
		if bytes.Contains(line, []byte(word)) {
			return true
		}
	}
	return false
}

// shorten changes n, the value of a member called key or an item of its array,
// and reports whether it did.
func (n *node) shorten(key string) bool {
	switch n.open {
	case 0:
		return n.shortenText(key)
	case '[':
		changed := false
		for _, item := range n.items {
			changed = item.shorten(key) || changed
		}
		return changed
	}
	switch {
	case n.get("type").is("image_generation_call") && n.get("result").isLargeImage():
		n.get("result").keepApart()
		return true
	case n.isImageFor(key) && n.get("data").isLargeImage():
		n.get("data").keepApart()
		return true
	case n.isSealed(key):
		return false
	}
	changed := n.drop("jsonlEvents")
	for i, item := range n.items {
		name, _ := jsjson.Value(n.names[i]).Text()
		changed = item.shorten(name) || changed
	}
	if changed {
		n.countLines()
	}
	return changed
}

// countLines has the lineCount of an object with text for content be that of
// the text.
func (n *node) countLines() {
	content, count := n.get("content"), n.get("lineCount")
	if _, isNumber := count.text.Number(); !isNumber || content.text.Kind() != '"' {
		return
	}
	s, _ := content.text.Text()
	count.text = strconv.AppendInt(nil, int64(strings.Count(s, "\n")+1), 10)
}

// isImageFor reports whether n is an image that omp stores separately.
func (n *node) isImageFor(key string) bool {
	if n.get("data").text.Kind() != '"' {
		return false
	}
	if n.get("type").is("image") {
		return key == "content" || key == "images" || key == "frames"
	}
	mime, _ := n.get("mimeType").text.Text()
	return (key == "images" || key == "frames") && strings.HasPrefix(strings.ToLower(mime), "image/")
}

func (n *node) isLargeImage() bool {
	return n.text.Kind() == '"' && !bytes.HasPrefix(n.text[1:], []byte(refPrefix)) && atLeast(n.text, imageText)
}

// keepApart puts a reference in place of base64.
func (n *node) keepApart() {
	s, _ := n.text.Text()
	n.refer(decoded(s))
}

func (n *node) refer(raw []byte) {
	sum := sha256.Sum256(raw)
	n.text = []byte(`"` + refPrefix + hex.EncodeToString(sum[:]) + `"`)
}

// decoded is what JavaScript makes of base64: characters of neither alphabet
// are skipped, and padding is optional.
func decoded(s string) []byte {
	if raw, err := base64.StdEncoding.DecodeString(s); err == nil {
		return raw
	}
	s, _, _ = strings.Cut(s, "=")
	s = strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '+', r == '/':
			return r
		case r == '-':
			return '+'
		case r == '_':
			return '/'
		}
		return -1
	}, s)
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	raw, _ := base64.RawStdEncoding.DecodeString(s)
	return raw
}

// isSealed reports whether n is something that a provider takes back only as it
// was: omp keeps it whole.
func (n *node) isSealed(key string) bool {
	kind, _ := n.get("type").text.Text()
	switch kind {
	case "thinking":
		return n.get("thinkingSignature").isText()
	case "text":
		return n.get("textSignature").isText()
	case "toolCall":
		return n.get("thoughtSignature").isText()
	case "redactedThinking":
		return n.get("data").isText()
	case "reasoning":
		return n.get("encrypted_content").isText()
	case "anthropicCompaction":
		return true
	case "anthropicServerTool":
		if n.get("block").isServerTool() {
			return true
		}
	}
	return key == "anthropicCompaction" && n.get("content").text.Kind() == '"'
}

// isServerTool reports whether n is a block that Anthropic checks byte by byte.
func (n *node) isServerTool() bool {
	switch kind, _ := n.get("type").text.Text(); kind {
	case "server_tool_use":
		name := n.get("name")
		known := name.is("web_search") || name.is("tool_search_tool_regex") || name.is("tool_search_tool_bm25")
		return known && n.get("id").isText()
	case "web_search_tool_result", "tool_search_tool_result":
		return n.get("tool_use_id").isText() && n.has("content")
	}
	return false
}

// shortenText cuts a string that is too long, or keeps the image in it apart.
func (n *node) shortenText(key string) bool {
	if n.text.Kind() != '"' {
		return false
	}
	if s, _ := n.text.Text(); key == "image_url" && strings.HasPrefix(s, "data:image/") && strings.Contains(s, ";base64,") {
		n.refer([]byte(s))
		return true
	}
	if key == "thinkingSignature" || key == "thoughtSignature" || key == "textSignature" || !atLeast(n.text, longestText+1) {
		return false
	}
	kept := n.text[:cutAt(n.text, longestText-noticeUnits)]
	n.text = append(append(bytes.Clone(kept), notice...), '"')
	return true
}
