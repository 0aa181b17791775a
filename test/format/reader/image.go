package reader

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// PutImages returns a line with its images in their places.
func PutImages(line []byte, src Source) ([]byte, error) {
	var out []byte
	done := 0
	for _, sp := range imageSpans(line) {
		text := string(line[sp[0]:sp[1]])
		put, kept := strings.CutPrefix(text, "blob:keep:")
		if !kept {
			digest, isBlob := strings.CutPrefix(text, "blob:")
			hexDigits, isDigest := strings.CutPrefix(digest, "sha256:")
			if !isBlob || !isDigest || parseHex(make([]byte, 32), hexDigits) != nil {
				continue
			}
			b, err := blob(src, digest)
			if err != nil {
				return nil, err
			}
			put = base64.StdEncoding.EncodeToString(b)
		}
		out = append(append(out, line[done:sp[0]]...), put...)
		done = sp[1]
	}
	return append(out, line[done:]...), nil
}

// A scope is an object or array that the scan is inside of.
type scope struct {
	array, images bool // images: the array is a member called so
	image         bool // the last member called type is "image"
	name          string
	named         bool
	spans         [][2]int
}

// imageSpans returns where a line has images, in order: bytes between quotes.
func imageSpans(line []byte) [][2]int {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var found [][2]int
	var scopes []*scope
	for {
		before := int(d.InputOffset())
		token, err := d.Token()
		if err != nil {
			break
		}
		span := [2]int{before + bytes.IndexByte(line[before:], '"') + 1, int(d.InputOffset()) - 1}
		var top *scope
		if len(scopes) > 0 {
			top = scopes[len(scopes)-1]
		}
		if delim, ok := token.(json.Delim); ok {
			switch delim {
			case '{', '[':
				isImages := delim == '[' && top != nil && !top.array && top.name == "images"
				scopes = append(scopes, &scope{array: delim == '[', images: isImages})
				continue
			}
			if top.image {
				found = append(found, top.spans...)
			}
			scopes = scopes[:len(scopes)-1]
			if len(scopes) == 0 {
				break
			}
			if top = scopes[len(scopes)-1]; !top.array && top.name == "type" {
				top.image = false
			}
			top.named = false
			continue
		}
		text, isText := token.(string)
		switch {
		case top == nil:
		case top.array && top.images && isText:
			object := scopes[len(scopes)-2]
			if raw := line[span[0]:span[1]]; bytes.HasPrefix(raw, []byte("data:")) {
				if i := bytes.Index(raw, []byte(";base64,")); i >= 0 {
					span[0] += i + len(";base64,")
				}
			}
			object.spans = append(object.spans, span)
		case top.array:
		case !top.named:
			top.name, top.named = text, true
		default:
			top.named = false
			if top.name == "type" {
				top.image = isText && text == "image"
			}
			if top.name == "data" && isText {
				top.spans = append(top.spans, span)
			}
		}
	}
	if !json.Valid(line) {
		return nil
	}
	slices.SortFunc(found, func(a, b [2]int) int { return a[0] - b[0] })
	return found
}
