package secrets

import (
	"bytes"
	"math"
	"regexp"
	"slices"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
)

// Rules say what looks like a secret. They are safe for concurrent use.
type Rules struct {
	rules []rule
	allow []allowlist

	always   []int // rules without keywords
	keywords *ahocorasick.Trie
	owners   [][]int // the rules of each keyword
}

type rule struct {
	id       string
	re       *regexp.Regexp
	group    int // of re that is the secret; 0: the first that matched, or all
	entropy  float64
	keywords []string // in lower case; the text has one of them
	reach    int      // see reachOf
	allow    []allowlist
}

// An allowlist says what is no secret.
type allowlist struct {
	every   bool // all of its conditions have to hold, not only one
	target  string
	regexes []*regexp.Regexp
	words   []string
}

// index prepares the search for keywords.
func (r *Rules) index() {
	byWord := map[string]int{}
	var words []string
	for i := range r.rules {
		if len(r.rules[i].keywords) == 0 {
			r.always = append(r.always, i)
		}
		for _, w := range r.rules[i].keywords {
			n, there := byWord[w]
			if !there {
				n = len(words)
				byWord[w] = n
				words, r.owners = append(words, w), append(r.owners, nil)
			}
			r.owners[n] = append(r.owners[n], i)
		}
	}
	r.keywords = ahocorasick.NewTrieBuilder().AddStrings(words).Build()
}

// hits returns where text, in lower case, has keywords of each rule. Rules without
// keywords are in it.
func (r *Rules) hits(text []byte) map[int][]int {
	found := map[int][]int{}
	for _, i := range r.always {
		found[i] = nil
	}
	r.keywords.Walk(text, func(end, _, word int64) bool {
		for _, i := range r.owners[word] {
			found[i] = append(found[i], int(end))
		}
		return true
	})
	return found
}

// secret returns which part of a match is the secret.
func (r *rule) secret(match []int) (from, to int) {
	if r.group > 0 {
		return match[2*r.group], match[2*r.group+1]
	}
	for g := 2; g+1 < len(match); g += 2 {
		if match[g] < match[g+1] {
			return match[g], match[g+1]
		}
	}
	return match[0], match[1]
}

// allows reports whether a finding is no secret.
func (a *allowlist) allows(secret, match, line []byte) bool {
	target := map[string][]byte{"match": match, "line": line}[a.target]
	if target == nil {
		target = secret
	}
	matches := slices.ContainsFunc(a.regexes, func(re *regexp.Regexp) bool { return re.Match(target) })
	low := bytes.ToLower(secret)
	says := slices.ContainsFunc(a.words, func(w string) bool { return bytes.Contains(low, []byte(w)) })
	if a.every {
		return (matches || len(a.regexes) == 0) && (says || len(a.words) == 0) && len(a.regexes)+len(a.words) > 0
	}
	return matches || says
}

// entropyOf returns the bits per character of b.
func entropyOf(b []byte) (bits float64) {
	counts := map[rune]int{}
	n := 0
	for _, c := range string(b) {
		counts[c]++
		n++
	}
	for _, c := range counts {
		p := float64(c) / float64(n)
		bits -= p * math.Log2(p)
	}
	return bits
}
