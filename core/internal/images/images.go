// Package images finds the images in JSON lines, as packages core and image store
// them.
package images

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// In the log, the data of an image is either "blob:sha256:<hash>", written by
// image.Externalize, or what the agent wrote. A string of the agent's that itself
// begins with "blob:" is stored after KeepPrefix, so that the two can always be
// told apart.
const (
	BlobPrefix = "blob:sha256:"
	AnyPrefix  = "blob:"
	KeepPrefix = "blob:keep:"
)

// Rewrite passes the raw text between the quotes of each "data" of each
// image object to change, and replaces it by the result unless that is nil.
// Only errors of change are returned: a line that is not JSON has no images.
func Rewrite(line []byte, change func(data []byte) ([]byte, error)) ([]byte, error) {
	spans, err := imageSpans(line)
	if err != nil || len(spans) == 0 {
		return line, nil
	}
	var out []byte
	done := 0
	for _, sp := range spans {
		repl, err := change(line[sp.from:sp.to])
		if err != nil {
			return nil, err
		}
		if repl == nil {
			continue
		}
		out = append(out, line[done:sp.from]...)
		out = append(out, repl...)
		done = sp.to
	}
	if done == 0 {
		return line, nil
	}
	return append(out, line[done:]...), nil
}

type span struct{ from, to int }

// An object or array that the scan is inside of.
type scope struct {
	array  bool
	images bool // the array is an object's "images"
	image  bool // the object's last "type" is "image"
	data   []span
	name   string // of the member whose value comes next, once named
	named  bool
}

// imageSpans finds the base64 of every object that has "type":"image", in
// order: the text of its "data", and of the strings in its "images". What makes
// an object an image is its type alone, never its data, so the same spans are found before and after a rewrite.
func imageSpans(line []byte) ([]span, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(line), lenient...)
	var scopes []scope
	var found []span
	for {
		kind := d.PeekKind()
		var text jsontext.Value
		var err error
		if kind == '"' {
			text, err = d.ReadValue()
		} else {
			_, err = d.ReadToken()
		}
		if err == io.EOF && len(scopes) == 0 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		switch kind {
		case '{', '[':
			scopes = append(scopes, scope{array: kind == '[', images: kind == '[' && inImages(scopes)})
			continue
		case '}', ']':
			top := scopes[len(scopes)-1]
			scopes = scopes[:len(scopes)-1]
			if top.image {
				found = append(found, top.data...)
			}
		}
		n := len(scopes)
		switch {
		case n == 0:
		case !scopes[n-1].array:
			scopes[n-1].read(text, int(d.InputOffset()))
		case scopes[n-1].images && text != nil:
			scopes[n-2].data = append(scopes[n-2].data, pictureSpan(text, int(d.InputOffset())))
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	return found, nil
}

// inImages reports whether the value that begins is an object's "images".
func inImages(scopes []scope) bool {
	n := len(scopes)
	return n > 0 && !scopes[n-1].array && scopes[n-1].named && scopes[n-1].name == "images"
}

// pictureSpan is the position of the base64 in a raw string that ends at end:
// all of it, or what follows "data:image/png;base64,".
func pictureSpan(text jsontext.Value, end int) span {
	const mark = ";base64,"
	sp := span{end - len(text) + 1, end - 1}
	if raw := text[1:]; bytes.HasPrefix(raw, []byte("data:")) {
		if i := bytes.Index(raw, []byte(mark)); i >= 0 {
			sp.from += i + len(mark)
		}
	}
	return sp
}

// read notes a member's name, or the value that follows it. text is the raw
// string that ends at end, or nil if the value is not a string.
func (sc *scope) read(text jsontext.Value, end int) {
	if !sc.named {
		sc.name = unquoted(text)
		sc.named = true
		return
	}
	sc.named = false
	switch sc.name {
	case "type":
		sc.image = unquoted(text) == "image"
	case "data":
		if text != nil {
			sc.data = append(sc.data, span{end - len(text) + 1, end - 1})
		}
	}
}

// unquoted decodes a raw JSON string; it is empty for nil.
func unquoted(raw jsontext.Value) string {
	b, _ := jsontext.AppendUnquote(nil, raw)
	return string(b)
}

// lenient accepts what the agents' own parsers accept.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
