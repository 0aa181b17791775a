package operator

import (
	"slices"

	"github.com/sesslog/sesslog/core"
)

// Window implements core.Windower. A context has the messages from the first one
// that the last compaction kept, and the settings of the whole path.
func (Dialect) Window(path []core.Entry) (before []int, from int, ok bool) {
	at := lastRead(path, typeCompaction)
	if at < 0 {
		return nil, 0, false
	}
	o, err := read(path[at])
	if err != nil {
		return nil, 0, false
	}
	from = at
	if first, _ := o.Get("first_kept_entry_id").Text(); first != "" && first != path[at].ID {
		from = slices.IndexFunc(path[:at], func(e core.Entry) bool { return e.ID == first })
		if from < 0 || !isReadable(path[from]) {
			return nil, 0, false
		}
	}
	for _, kind := range []string{typeThinking, typeModel} {
		if i := lastRead(path[:from], kind); i >= 0 {
			before = append(before, i)
		}
	}
	slices.Sort(before)
	return before, from, true
}

// lastRead returns the index of the last entry of that type that Operator reads, -1
// without one.
func lastRead(path []core.Entry, kind string) int {
	at := len(path) - 1
	for at >= 0 && (path[at].Type != kind || !isReadable(path[at])) {
		at--
	}
	return at
}
