package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// TidyEntry implements core.TidyDecoder.
func (Dialect) TidyEntry(line []byte) core.Entry { return jsonl.TidyEntry(line) }

// tidyMessage returns the message of e where the context has it as it stands,
// as most are; nil where it has another or none, or where it takes more than a
// glance to find out.
func tidyMessage(e core.Entry, edits map[string]jsjson.Value) jsjson.Value {
	if !e.Tidy || e.Type != "message" {
		return nil
	}
	if _, edited := edits[e.ID]; edited {
		return nil
	}
	m := jsonl.GlanceMessage(e)
	if jsjson.Value(m.From("content")).IsNullish() {
		return nil
	}
	return jsjson.Value(m)
}

// isTidySystem is isSystem for a tidy entry.
func isTidySystem(e core.Entry) bool {
	return e.Type == "message" && jsonl.GlanceMessage(e).From("role").Value().Is("system")
}
