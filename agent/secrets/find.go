package secrets

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core/redact"
)

// A Finding is a part of a line that looks like a secret.
type Finding struct {
	Rule       string
	Start, End int // in the line
}

// generic is gitleaks' rule about names like "token". A finding is named after it if
// no other rule has found it.
const generic = "generic-api-key"

// Find returns what looks like a secret in a line or a text, in order and without
// overlaps. Masks are not findings.
func (r *Rules) Find(line []byte) []Finding {
	text, at := decodeWords(line)
	low := bytes.ToLower(text)
	if len(low) != len(text) { // of characters whose lower case is longer
		low = lowerASCII(text)
	}
	hits := r.hits(low)
	if len(hits) == 0 {
		return nil
	}
	text = unescape(text)
	aligned := text // with line
	if at != nil {
		aligned = unescape(line)
	}
	masks := redact.Masks(line)
	var found []Finding
	for i, hit := range hits {
		for _, match := range r.rules[i].matches(text, hit) {
			f, ok := r.judge(&r.rules[i], text, match)
			if !ok {
				continue
			}
			if at != nil {
				f.Start, f.End = at[f.Start], at[f.End]
			}
			if f.Start, f.End = clip(line, masks, f.Start, f.End); f.Start < f.End && !isStructure(aligned, f.Start, f.End) {
				found = append(found, f)
			}
		}
	}
	return merge(found)
}

// escapedWord is the JSON escape of a letter, a digit or "_", at any depth of JSON within
// JSON.
var escapedWord = regexp.MustCompile(`\\+u00(3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9Aa])`)

// decodeWords returns line with the escapes of letters and digits replaced by these, and
// the positions in line of all bytes of the result and of its end. at is nil, and text is
// line, if there are none: most agents write none.
func decodeWords(line []byte) (text []byte, at []int) {
	if !bytes.Contains(line, []byte(`\u00`)) {
		return line, nil
	}
	escapes := escapedWord.FindAllIndex(line, -1)
	if len(escapes) == 0 {
		return line, nil
	}
	from := 0
	keep := func(to int) {
		for ; from < to; from++ {
			text, at = append(text, line[from]), append(at, from)
		}
	}
	for _, e := range escapes {
		keep(e[0])
		c, _ := strconv.ParseUint(string(line[e[1]-2:e[1]]), 16, 8) // the expression has the digits
		text, at, from = append(text, byte(c)), append(at, from), e[1]
	}
	keep(len(line))
	return text, append(at, len(line))
}

func lowerASCII(b []byte) []byte {
	out := bytes.Clone(b)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}

// judge returns the secret of a match, unless an allowlist or its entropy says that it
// is none.
func (r *Rules) judge(one *rule, text []byte, match []int) (Finding, bool) {
	from, to := one.secret(match)
	if from < 0 || from == to {
		return Finding{}, false
	}
	secret := text[from:to]
	if one.entropy > 0 && entropyOf(secret) <= one.entropy {
		return Finding{}, false
	}
	begin := bytes.LastIndexByte(text[:match[0]], '\n') + 1
	end := match[1] + max(0, bytes.IndexByte(append(text[match[1]:len(text):len(text)], '\n'), '\n'))
	allows := func(a allowlist) bool { return a.allows(secret, text[match[0]:match[1]], text[begin:end]) }
	if slices.ContainsFunc(r.allow, allows) || slices.ContainsFunc(one.allow, allows) {
		return Finding{}, false
	}
	return Finding{one.id, from, to}, true
}

// unescape returns line with its JSON escapes replaced by what they stand for, at any
// depth of JSON within JSON. Every other byte keeps its position.
func unescape(line []byte) []byte {
	out := bytes.Clone(line)
	for i := 0; ; {
		n := bytes.IndexByte(line[i:], '\\')
		if n < 0 {
			return out
		}
		for i += n; i < len(line) && line[i] == '\\'; i++ {
			out[i] = ' '
		}
		if i == len(line) {
			return out
		}
		switch line[i] {
		case 'n', 'r':
			out[i] = '\n'
		case 't':
			out[i] = '\t'
		case 'u':
			i += unescapeRune(out, line, i)
		}
		i++
	}
}

// unescapeRune replaces \u003d at position i, of the letter u, and returns how many
// digits there are. What is no sign of ASCII becomes spaces.
func unescapeRune(out, line []byte, i int) int {
	if len(line) < i+5 {
		return 0
	}
	c, err := strconv.ParseUint(string(line[i+1:i+5]), 16, 16)
	if err != nil {
		return 0
	}
	copy(out[i:], "     ")
	if c > ' ' && c < 0x7f {
		out[i+4] = byte(c)
	}
	return 4
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// clip returns the part of a finding that a mask can replace: within one string, with
// whole escapes, and with whole masks, unless it has nothing else.
func clip(line []byte, masks [][]int, from, to int) (int, int) {
	from = afterEscape(line, from)
	for i := from; i < to; i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if line[i] == '"' {
			to = i
		}
	}
	if from >= to {
		return 0, 0
	}
	to = beforeEscape(line, from, to)
	other := to - from
	for _, m := range masks {
		switch {
		case m[1] <= from || m[0] >= to:
		case m[0] < from:
			other -= min(m[1], to) - from
			from = min(m[1], to)
		case m[1] > to:
			other -= to - m[0]
			to = m[0]
		default:
			other -= m[1] - m[0]
		}
	}
	if other <= 0 {
		return 0, 0
	}
	return from, to
}

// afterEscape returns i, or the end of the escape that i is in.
func afterEscape(line []byte, i int) int {
	for k := 1; k <= 5 && k <= i; k++ {
		if line[i-k] != '\\' {
			continue
		}
		switch {
		case k == 1 && i < len(line) && line[i] == 'u':
			return min(len(line), i+5)
		case k == 1:
			return min(len(line), i+1)
		case line[i-k+1] == 'u':
			return min(len(line), i-k+6)
		}
		return i
	}
	return i
}

// beforeEscape returns the end of line[from:to] without an escape that it cuts.
func beforeEscape(line []byte, from, to int) int {
	for k := 1; k <= 5 && to-k >= from; k++ {
		if line[to-k] != '\\' {
			continue
		}
		if k == 1 || line[to-k+1] == 'u' {
			to -= k
		}
		break
	}
	for to > from && line[to-1] == '\\' {
		to--
	}
	return to
}

const (
	// sealedBytes is the length from which base64 is an image or sealed by a provider.
	sealedBytes = 2 << 10
	// nameWithin is how far before a value its name is looked for.
	nameWithin = 64 << 10
)

// isStructure reports whether text[from:to] is something that agents rely on: an id, a
// time, a signature, or the bytes of an image.
func isStructure(text []byte, from, to int) bool {
	for i := from; i < to && isBase64(text[i]); i++ {
		if i == to-1 && base64Around(text, from, to) >= sealedBytes {
			return true
		}
	}
	quote := bytes.LastIndexByte(text[max(0, from-nameWithin):from], '"')
	if quote < 0 {
		return false
	}
	before, ok := bytes.CutSuffix(bytes.TrimRight(text[:max(0, from-nameWithin)+quote], " \t\n"), []byte(":"))
	before = bytes.TrimRight(before, " \t\n")
	if !ok || !bytes.HasSuffix(before, []byte(`"`)) {
		return false
	}
	before = before[:len(before)-1]
	name := string(before[bytes.LastIndexByte(before, '"')+1:])
	return redact.IsSeal(name) || redact.IsLink(name) && !namesSecret(name)
}

// namesSecret reports whether an id of that name can be half of a secret.
func namesSecret(name string) bool {
	low := strings.ToLower(name)
	return slices.ContainsFunc([]string{"key", "secret", "token", "access", "client", "role", "auth"}, func(w string) bool {
		return strings.Contains(low, w)
	})
}

func isBase64(c byte) bool { return isWord(c) || c == '+' || c == '/' || c == '=' || c == '-' }

func base64Around(text []byte, from, to int) int {
	for from > 0 && isBase64(text[from-1]) {
		from--
	}
	for to < len(text) && isBase64(text[to]) {
		to++
	}
	return to - from
}

// merge sorts findings, and makes one of those that overlap.
func merge(found []Finding) (out []Finding) {
	slices.SortFunc(found, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End), strings.Compare(x.Rule, y.Rule))
	})
	for _, f := range found {
		if n := len(out) - 1; n >= 0 && f.Start < out[n].End {
			out[n].End = max(out[n].End, f.End)
			if out[n].Rule == generic {
				out[n].Rule = f.Rule
			}
			continue
		}
		out = append(out, f)
	}
	return out
}
