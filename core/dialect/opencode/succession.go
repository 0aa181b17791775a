package opencode

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
)

// Succession compares an export with the session: it is later if opencode changed
// the session after the log has it, and earlier if not. A list of events grows, and
// is compared event by event, unless the log has an export.
func (Dialect) Succession(h core.Header, es, file []core.Entry) optional.Succession {
	isExport := hasExport(file)
	whole := isExport || ownEvents(h, file) != nil
	if !isExport && (!hasExport(es) || !whole && !hasEvent(es)) {
		return optional.Diverged
	}
	now, next := fold(h, es), fold(h, file)
	if !isExport && sameJSON(now.document(), fold(h, slices.Concat(es, file)).document()) {
		return optional.Later // the events of what the export has
	}
	was, is := millis(now.info, "time", "updated"), millis(next.info, "time", "updated")
	switch {
	case is > was:
		return optional.Later
	case whole && (is < was || sameJSON(now.document(), next.document())):
		return optional.Earlier
	}
	if now.adopt(); whole && sameJSON(now.document(), next.document()) {
		return optional.Earlier // with the name that the log gave it
	}
	return optional.Diverged
}

func hasExport(es []core.Entry) bool {
	return slices.ContainsFunc(es, func(e core.Entry) bool { return e.Type == typeExport })
}

func hasEvent(es []core.Entry) bool {
	return slices.ContainsFunc(es, func(e core.Entry) bool { _, ok := readEvent(lineOf(e)); return ok })
}

// sameJSON reports whether v and w are one value, whose members may be in another
// order: events have another than exports.
func sameJSON(v, w []byte) bool {
	if bytes.Equal(v, w) {
		return true
	}
	a, b := jsontext.Value(bytes.Clone(v)), jsontext.Value(bytes.Clone(w))
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}
