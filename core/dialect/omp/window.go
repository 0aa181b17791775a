package omp

import (
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Window implements core.Windower. A context has the messages from the last reset, or
// from the first one that the last compaction kept, the settings of the whole path, and
// the last notebook. A compaction that continues with its notes alone looks for the
// user's request in all of the path.
func (Dialect) Window(path []core.Entry) (before []int, from int, ok bool) {
	from = lastOf(path, typeReset)
	if at := lastOf(path, "compaction"); at > from {
		from, ok = neededBy(path, at)
		if !ok {
			return nil, 0, false
		}
	}
	if from < 0 {
		return nil, 0, false
	}
	before, err := settingsIn(path[:from])
	if err != nil {
		return nil, 0, false
	}
	notes, _, err := notesOf(path[:from])
	if err != nil {
		return nil, 0, false
	}
	if notes.ID != "" {
		before = append(before, slices.IndexFunc(path, func(e core.Entry) bool { return e.ID == notes.ID }))
	}
	slices.Sort(before)
	return slices.Compact(before), from, true
}

// neededBy returns the index of the first entry that the compaction at index at keeps or
// names. ok is false if path lacks one of these.
func neededBy(path []core.Entry, at int) (from int, ok bool) {
	k, err := readCompaction(path, at)
	if err != nil || k.isRollover() {
		return 0, false
	}
	from = at
	for _, name := range []string{"firstKeptEntryId", "providerReplayThroughEntryId"} {
		id := k.o.Get(name)
		if s, _ := id.Text(); s == "" || s == path[at].ID {
			continue
		}
		i := placeOf(path[:at], id)
		if i < 0 {
			return 0, false
		}
		from = min(from, i)
	}
	return from, true
}

// settingsIn returns the indexes of the entries that settingsAt needs of path. Of the
// answers before a default model is chosen, these are the first, which decides the order
// of the models, and the last.
func settingsIn(path []core.Entry) ([]int, error) {
	var needed []int
	var s settings
	first, last := -1, -1
	for i, e := range path {
		switch e.Type {
		case "thinking_level_change", "model_change", "service_tier_change", "mode_change", "ttsr_injection":
			needed = append(needed, i)
		case "message":
			if s.defaultChosen {
				continue
			}
		default:
			continue
		}
		o, err := jsonl.Object(e)
		if err != nil {
			return nil, err
		}
		if e.Type == "model_change" {
			s.choose(&o)
		}
		if m, ok := jsonl.Nested(o.Get("message")); e.Type == "message" && ok && m.Get("role").Is("assistant") {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	if first >= 0 {
		needed = append(needed, first, last)
	}
	return needed, nil
}
