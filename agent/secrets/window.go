package secrets

import "regexp/syntax"

// A span is part of a text, from a position to before another.
type span struct{ from, to int }

const (
	// far is how long a repetition without limit is taken to be, if it can match
	// anything; narrow, if it matches some characters only.
	far    = 16 << 10
	narrow = 512
	// maxReach bounds the length that matches are taken to have.
	maxReach = 64 << 10
)

// reachOf returns how far from one of its keywords a match of expr can be. Matches that
// are longer are found if they end in a repetition of some characters.
func reachOf(expr string) (int, error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return min(longest(re), maxReach), nil
}

func longest(re *syntax.Regexp) (n int) {
	switch re.Op {
	case syntax.OpLiteral:
		return 4 * len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return widthOf(re)
	case syntax.OpStar, syntax.OpPlus:
		return unlimited(re.Sub[0])
	case syntax.OpRepeat:
		if re.Max < 0 {
			return unlimited(re.Sub[0])
		}
		return min(re.Max*longest(re.Sub[0]), maxReach)
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
		return n
	default:
		for _, sub := range re.Sub {
			n = min(n+longest(sub), maxReach)
		}
		return n
	}
}

func unlimited(re *syntax.Regexp) int {
	if isNarrow(re) {
		return narrow
	}
	return far
}

// isNarrow reports whether re matches one of some characters.
func isNarrow(re *syntax.Regexp) bool {
	some := rune(0)
	for i := 0; re.Op == syntax.OpCharClass && i < len(re.Rune); i += 2 {
		some += re.Rune[i+1] - re.Rune[i] + 1
	}
	return 0 < some && some <= 128 || re.Op == syntax.OpLiteral && len(re.Rune) == 1
}

// widthOf returns the number of bytes that a character is taken to have.
func widthOf(re *syntax.Regexp) int {
	if isNarrow(re) {
		return 1
	}
	return 4
}

// around returns the parts of a text of n bytes that are within reach of its hits,
// which are in order.
func around(hits []int, reach, n int) (spans []span) {
	for _, at := range hits {
		s := span{max(0, at-reach), min(n, at+reach)}
		if last := len(spans) - 1; last >= 0 && s.from <= spans[last].to {
			spans[last].to = max(spans[last].to, s.to)
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

// matches returns the matches of a rule in the part of text that is within reach of its
// keywords. A match at the end of a part may be longer, so that part grows.
func (r *rule) matches(text []byte, hits []int) (all [][]int) {
	if len(r.keywords) == 0 {
		return r.re.FindAllSubmatchIndex(text, -1)
	}
	done := 0
	for _, s := range around(hits, r.reach, len(text)) {
		if s.to <= done {
			continue
		}
		s.from = max(s.from, done)
		for found := r.re.FindAllSubmatchIndex(text[s.from:s.to], -1); ; found = r.re.FindAllSubmatchIndex(text[s.from:s.to], -1) {
			if n := len(found); n > 0 && s.to < len(text) && found[n-1][1] == s.to-s.from {
				s.to = min(len(text), s.to+(s.to-s.from))
				continue
			}
			for _, m := range found {
				for i := range m {
					if m[i] >= 0 {
						m[i] += s.from
					}
				}
				all = append(all, m)
			}
			break
		}
		done = s.to
	}
	return all
}
