package filename

import (
	"strings"
	"unicode/utf8"
)

// longestID is how much of what may be an id is believed.
const longestID = 1 << 10

// ParentID returns the id of the session that an agent's link names. The link
// is the path of the session's file, <time>_<id>.jsonl on any system, or the id
// itself; isPath says which. The id is empty if the link is empty, is the path
// of a file with another name, or cannot be an id.
func ParentID(link string) (id string, isPath bool) {
	name := link[strings.LastIndexAny(link, `/\`)+1:]
	stem, isFile := strings.CutSuffix(name, ".jsonl")
	if isPath = isFile || len(name) < len(link); isPath {
		when, rest, _ := strings.Cut(stem, "_")
		if !isFile || !HasForm(when, "0000-00-00T") {
			return "", true
		}
		name = rest
	}
	if len(name) > longestID || !utf8.ValidString(name) {
		return "", isPath
	}
	return name, isPath
}

// HasForm reports whether s begins like form, in which 0 stands for any digit.
func HasForm(s, form string) bool {
	if len(s) < len(form) {
		return false
	}
	for i := range len(form) {
		isDigit := '0' <= s[i] && s[i] <= '9'
		if form[i] == '0' && !isDigit || form[i] != '0' && s[i] != form[i] {
			return false
		}
	}
	return true
}

// Lineage returns the parents' ids that a link names, and how the session came
// to be: byID if the link is an id, byPath if it is a path. Both are empty if
// the link gives no id.
func Lineage(link, byID, byPath string) (parents []string, how string) {
	id, isPath := ParentID(link)
	switch {
	case id == "":
		return nil, ""
	case isPath:
		return []string{id}, byPath
	}
	return []string{id}, byID
}
