package opencode

import (
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/dataurl"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A content is what a message of a user is made of.
type content struct {
	blocks []byte // separated by commas
	only   []byte // the text, if it is the only block
	n      int
}

func (c *content) add(block []byte) {
	if c.n > 0 {
		c.blocks = append(c.blocks, ',')
	}
	c.blocks = append(append(c.blocks, block...), '}')
	c.n++
}

func (c *content) text(s string) {
	c.only = jsjson.AppendString(nil, s)
	c.add(jsonl.AppendMember([]byte(`{"type":"text"`), "text", s))
}

// object begins an object with a member.
func object(name, value string) []byte {
	return jsjson.AppendString([]byte(`{"`+name+`":`), value)
}

func isMedia(mime string) bool {
	return strings.HasPrefix(mime, "image/") || mime == "application/pdf"
}

// file adds an attachment. Texts and directories were read when they were
// attached, and are text parts. A model of texts and images gets a text about any
// other kind.
func (c *content) file(row jsjson.Value) {
	mime, url := text(row, "mime"), text(row, "url")
	kind := kindOf(mime)
	switch {
	case mime == "text/plain" || mime == "application/x-directory":
	case kind != "image" && kind != "":
		c.text("ERROR: Cannot read " + nameOf(row, kind) + " (this model does not support " + kind + " input). Inform the user.")
	case kind == "image" && isEmptyData(url):
		c.text("ERROR: Image file is empty or corrupted. Please provide a valid image.")
	case kind == "image":
		c.add(append(append([]byte(`{"type":"image_url","image_url":`), object("url", withType(url, mime))...), '}'))
	default:
		c.text(url)
	}
}

// kindOf is the kind of input that a model must take to read a type, or "" for
// others.
func kindOf(mime string) string {
	for _, kind := range []string{"image", "audio", "video"} {
		if strings.HasPrefix(mime, kind+"/") {
			return kind
		}
	}
	if mime == "application/pdf" {
		return "pdf"
	}
	return ""
}

func nameOf(row jsjson.Value, kind string) string {
	if name := text(row, "filename"); name != "" {
		return `"` + name + `"`
	}
	return kind
}

func isEmptyData(url string) bool {
	_, data, ok := dataurl.Parse(url)
	return ok && data == ""
}

// withType returns url with the type of the data as providers take it.
func withType(url, mime string) string {
	of, data, ok := dataurl.Parse(url)
	if !ok {
		return url
	}
	if of == "" {
		of = mime
	}
	if of == "image/*" {
		of = "image/jpeg"
	}
	return dataurl.URL(of, data)
}
