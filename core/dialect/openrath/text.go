package openrath

import (
	"fmt"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

// spaced appends v, which is valid JSON, in the style of Python's json.dumps:
// ", " between members and ": " after names. Strings and numbers stay as they
// are.
func spaced(dst, v []byte) []byte {
	inString := false
	for i := 0; i < len(v); i++ {
		c := v[i]
		if inString {
			dst = append(dst, c)
			if c == '\\' && i+1 < len(v) {
				i++
				dst = append(dst, v[i])
			}
			inString = c != '"'
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
		case ',', ':':
			dst = append(dst, c, ' ')
		default:
			dst = append(dst, c)
			inString = c == '"'
		}
	}
	return dst
}

// appendMember appends a member of an object that has one already, as Python
// sets it. value is valid JSON, and its line separators become escapes.
func appendMember(dst []byte, name string, value []byte) []byte {
	dst = append(append(append(dst, `, "`...), name...), `": `...)
	return spaced(dst, jsonline.EscapeSeparators(value))
}

func quoted(s string) []byte { return jsjson.AppendString(nil, s) }

var null = jsjson.Value("null")

// quotedOrNull is null for the empty text.
func quotedOrNull(s string) []byte {
	if s == "" {
		return null
	}
	return quoted(s)
}

// jsonOf is v as JSON. A value that JSON cannot represent, such as a channel or
// an infinity, is its text in quotes, as in OpenRath.
func jsonOf(v any) []byte {
	if b := jsonl.Marshal(v); b != nil {
		return b
	}
	return quoted(fmt.Sprint(v))
}
