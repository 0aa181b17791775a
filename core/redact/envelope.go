package redact

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sesslog/sesslog/core/jsonline"
)

// isEnvelope reports whether an object of that type is an envelope, which holds
// a line of an agent's file as text; see docs/FORMAT.md.
func isEnvelope(kind string) bool { return strings.HasPrefix(kind, "sesslog.") }

// wrapped appends a member of an envelope. Its place in the file stays. Of the
// line that it holds the structure stays if that is a JSON object; any other
// line, and bytes that are not text, become text.
func (k *redactor) wrapped(b []byte, kind, name string, v jsontext.Value) ([]byte, error) {
	if name == "base64" {
		name, v = "text", k.text
	}
	b, _ = jsontext.AppendQuote(b, name)
	b = append(b, ':')
	switch name {
	case "path", "kind", "dialect", "cwd":
		return append(b, v...), nil
	case "text":
		line, _ := jsonline.Text(v)
		blank, err := k.object(nil, []byte(line), 0)
		if err != nil {
			return append(b, k.text...), nil
		}
		return jsontext.AppendQuote(b, blank)
	}
	return k.member(b, kind, name, v, 0)
}
