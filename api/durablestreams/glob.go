package durablestreams

import "strings"

// maxRecursive bounds the recursive wildcards of a pattern, each of which multiplies the
// work of a match.
const maxRecursive = 3

// matchGlob reports whether a path matches a pattern, in which "*" is any segment and "**"
// any number of them. "%2A" is a star itself.
func matchGlob(pattern, path string) bool {
	return matchSegments(strings.Split(pattern, "/"), strings.Split(path, "/"))
}

func matchSegments(pattern, path []string) bool {
	for i, p := range pattern {
		if p == "**" {
			for skip := i; skip <= len(path); skip++ {
				if matchSegments(pattern[i+1:], path[skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(path) || p != "*" && strings.NewReplacer("%2A", "*", "%2a", "*").Replace(p) != path[i] {
			return false
		}
	}
	return len(pattern) == len(path)
}
