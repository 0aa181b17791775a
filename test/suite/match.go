package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
)

var variable = regexp.MustCompile(`\$\{([a-zA-Z0-9-]+)\}`)

// vars are the variables of a scenario: JSON values by name.
type vars map[string]any

// fill replaces the variables in a text. It fails if one has no value.
func (v vars) fill(text string) (string, error) {
	var err error
	out := variable.ReplaceAllStringFunc(text, func(name string) string {
		value, ok := v[name[2:len(name)-1]]
		if !ok {
			err = fmt.Errorf("%s has no value", name)
		}
		return fmt.Sprint(value)
	})
	return out, err
}

// match compares an answer with what is wanted: of an object only the members that want
// has; null also matches a missing member. A string that is a variable without a value
// gives it the value of the answer.
func (v vars) match(want, got any) error {
	switch want := want.(type) {
	case string:
		return v.matchString(want, got)
	case map[string]any:
		return v.matchObject(want, got)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s, want %s", show(got), show(want))
		}
		for i := range want {
			if err := v.match(want[i], list[i]); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Errorf("%s, want %s", show(got), show(want))
	}
	return nil
}

func (v vars) matchObject(want map[string]any, got any) error {
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("%s, want an object", show(got))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if err := v.match(want[name], object[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (v vars) matchString(want string, got any) error {
	if found := variable.FindStringSubmatch(want); found != nil && found[0] == want {
		value, ok := v[found[1]]
		if !ok && got != nil {
			v[found[1]] = got
			return nil
		}
		if !ok || !reflect.DeepEqual(value, got) {
			return fmt.Errorf("%s, want %s, which is %s", show(got), want, show(value))
		}
		return nil
	}
	text, err := v.fill(want)
	if err == nil && got != text {
		err = fmt.Errorf("%s, want %q", show(got), text)
	}
	return err
}

// matchLines compares lines with those that are wanted. A wanted string is the whole
// line.
func (v vars) matchLines(wants []json.RawMessage, lines [][]byte, anyOrder bool) error {
	wants = expand(wants)
	if len(wants) != len(lines) {
		return fmt.Errorf("%d lines, want %d: %s", len(lines), len(wants), show(texts(lines)))
	}
	left := slices.Clone(lines)
	for i, w := range wants {
		var err error
		at := slices.IndexFunc(left, func(line []byte) bool {
			try := maps.Clone(v)
			if err = try.matchLine(w, line); err == nil {
				maps.Copy(v, try)
			}
			return err == nil || !anyOrder
		})
		if at < 0 || err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		left = slices.Delete(left, at, at+1)
	}
	return nil
}

func (v vars) matchLine(want, line []byte) error {
	var w, got any
	if err := json.Unmarshal(want, &w); err != nil {
		return err
	}
	if text, ok := w.(string); ok {
		return v.matchString(text, string(line))
	}
	if err := json.Unmarshal(line, &got); err != nil {
		return fmt.Errorf("%s is not JSON: %w", show(string(line)), err)
	}
	return v.match(w, got)
}

// matchParents checks the parents of entries: "known" if each comes before its children,
// "chain" if each is the entry before.
func matchParents(how string, lines [][]byte) error {
	known, last := map[string]bool{}, ""
	for i, line := range lines {
		var entry struct {
			ID     string  `json:"id"`
			Parent *string `json:"parentId"`
		}
		if err := json.Unmarshal(line, &entry); err != nil {
			return err
		}
		switch parent := entry.Parent; {
		case parent == nil && (how == "known" || i == 0):
		case parent == nil:
			return fmt.Errorf("entry %s is a second root", entry.ID)
		case !known[*parent]:
			return fmt.Errorf("entry %s is an orphan: no entry %s comes before it", entry.ID, *parent)
		case how == "chain" && *parent != last:
			return fmt.Errorf("entry %s follows %s, not %s", entry.ID, *parent, last)
		}
		known[entry.ID], last = true, entry.ID
	}
	return nil
}

func texts(lines [][]byte) (all []string) {
	for _, line := range lines {
		all = append(all, string(line))
	}
	return all
}

// show is a value for a message, clipped.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 600
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
