package pi

import (
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// A kept is the last compaction on a path and what it kept.
type kept struct {
	at    int    // index of the compaction, -1 without one
	from  int    // index of the first entry that it kept; at if there is none
	named string // the first kept entry as the compaction names it
}

// keptOn finds what the last compaction on path kept: everything from its first
// kept entry to itself, and nothing if that is not on the path before it.
func keptOn(path []core.Entry) (kept, error) {
	at := len(path) - 1
	for at >= 0 && path[at].Type != "compaction" {
		at--
	}
	k := kept{at: at, from: at}
	if at < 0 {
		return k, nil
	}
	o, err := jsonl.Object(path[at])
	if err != nil {
		return k, err
	}
	k.named, _ = jsonl.Text(o.Get("firstKeptEntryId"))
	if i := slices.IndexFunc(path[:at], func(e core.Entry) bool { return e.ID == k.named }); i >= 0 && k.named != "" {
		k.from = i
	}
	return k, nil
}

// Window implements core.Windower. A context has the messages from the first one
// that the last compaction kept, and the settings of the whole path.
func (Dialect) Window(path []core.Entry) (before []int, from int, ok bool) {
	k, err := keptOn(path)
	if err != nil || k.at < 0 || k.from == k.at && k.named != "" && k.named != path[k.at].ID {
		return nil, 0, false
	}
	for _, i := range []int{lastThinking(path[:k.from]), lastModel(path[:k.from])} {
		if i >= 0 {
			before = append(before, i)
		}
	}
	slices.Sort(before)
	return slices.Compact(before), k.from, true
}

// choose returns the entries of path that make the context. Without a
// compaction these are all of them. Otherwise they are the last compaction,
// then what it kept except what dropped reports, then what follows it.
func choose(path []core.Entry, dropped func(core.Entry) (bool, error)) ([]core.Entry, error) {
	k, err := keptOn(path)
	if err != nil {
		return nil, err
	}
	if k.at < 0 {
		return path, nil
	}
	chosen := []core.Entry{path[k.at]}
	for _, e := range path[k.from:k.at] {
		drop, err := dropped(e)
		if err != nil {
			return nil, err
		}
		if !drop {
			chosen = append(chosen, e)
		}
	}
	return append(chosen, path[k.at+1:]...), nil
}

// isSystem reports whether e is a message of the role system.
func isSystem(e core.Entry) (bool, error) {
	if e.Tidy {
		return isTidySystem(e), nil
	}
	if e.Type != "message" {
		return false, nil
	}
	m, err := messageOf(e)
	return m.role.Is("system"), err
}
