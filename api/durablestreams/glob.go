package durablestreams

import "strings"

// maxRecursive bounds the recursive wildcards of a pattern.
const maxRecursive = 3

// matchGlob reports whether a path matches a pattern, in which "*" is any segment and "**"
// any number of them. "%2A" is a star itself.
func matchGlob(pattern, path string) bool {
	return matchSegments(strings.Split(pattern, "/"), strings.Split(path, "/"))
}

var stars = strings.NewReplacer("%2A", "*", "%2a", "*")

// matchSegments only ever gives more segments to the last "**": those before need no more.
func matchSegments(pattern, path []string) bool {
	p, s, after, from := 0, 0, -1, 0
	for s < len(path) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			p++
			after, from = p, s
		case p < len(pattern) && (pattern[p] == "*" || stars.Replace(pattern[p]) == path[s]):
			p++
			s++
		case after >= 0:
			from++
			p, s = after, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}
