package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// TidyEntry implements core.TidyDecoder.
func (Dialect) TidyEntry(line []byte) core.Entry { return jsonl.TidyEntry(line) }

// tidyMessage returns the message of e if the context has it unchanged, as for
// most entries, or nil if that is not so or is not known without a full scan.
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
