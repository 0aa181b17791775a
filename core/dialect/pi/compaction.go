package pi

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// choose returns the entries of path that make the context. Without a
// compaction these are all of them. Otherwise they are the last compaction,
// then what it kept, which is everything from its first kept entry to itself
// except what dropped reports, then what follows it. If the first kept entry is
// not on the path before the compaction, it kept nothing.
func choose(path []core.Entry, dropped func(core.Entry) (bool, error)) ([]core.Entry, error) {
	at := len(path) - 1
	for at >= 0 && path[at].Type != "compaction" {
		at--
	}
	if at < 0 {
		return path, nil
	}
	o, err := jsonl.Object(path[at])
	if err != nil {
		return nil, err
	}
	chosen := []core.Entry{path[at]}
	if first, ok := jsonl.Text(o.Get("firstKeptEntryId")); ok {
		if chosen, err = appendKept(chosen, path[:at], first, dropped); err != nil {
			return nil, err
		}
	}
	return append(chosen, path[at+1:]...), nil
}

// appendKept appends the entries of path from first on that are not dropped.
func appendKept(chosen, path []core.Entry, first string, dropped func(core.Entry) (bool, error)) ([]core.Entry, error) {
	i := 0
	for i < len(path) && (path[i].ID == "" || path[i].ID != first) {
		i++
	}
	for _, e := range path[i:] {
		drop, err := dropped(e)
		if err != nil {
			return nil, err
		}
		if !drop {
			chosen = append(chosen, e)
		}
	}
	return chosen, nil
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
