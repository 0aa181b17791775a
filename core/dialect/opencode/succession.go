package opencode

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
)

// Succession compares an export with the session: it is later if opencode changed
// the session after the log has it, and earlier if not. A list of events grows,
// and is compared event by event.
func (Dialect) Succession(h core.Header, es, file []core.Entry) optional.Succession {
	isExport := false
	for _, e := range file {
		isExport = isExport || e.Type == typeExport
	}
	if !isExport {
		return optional.Diverged
	}
	now, next := fold(h, es), fold(h, file)
	switch was, is := millis(now.info, "time", "updated"), millis(next.info, "time", "updated"); {
	case is > was:
		return optional.Later
	case is < was || string(now.document()) == string(next.document()):
		return optional.Earlier
	}
	return optional.Diverged
}
