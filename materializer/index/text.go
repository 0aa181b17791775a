package index

import (
	"hash/fnv"
	"strconv"
	"strings"
	"unicode"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
)

// Limits of the text that is kept, in bytes.
const (
	maxEntry   = 4 << 10   // of an entry
	maxOutput  = 1 << 10   // of a tool's output
	maxArgs    = 512       // of a tool call's arguments
	maxSession = 256 << 10 // of all entries of a session; the newest are kept
)

// A doc is a text that can be found.
type doc struct {
	id    int64 // derived from its time, see idOf
	place int   // of its entry in the session; namePlace for the session's name
	entry string
	kind  string
	text  string
}

// namePlace is the place of a session's name.
const namePlace = -1

// docOf returns the text of an entry, empty if it has none, and its time. It calls
// label for each label that the entry sets.
func docOf(e core.Entry, items []item.Item, place int, label func(target, text string)) (out doc, time string) {
	out = doc{place: place, entry: clipID(e.ID)}
	time = e.Time
	var b text
	for i := range items {
		it := &items[i]
		kind := b.item(it)
		if it.Kind == item.Label {
			label(it.Target, it.Text)
		}
		if out.kind == "" && b.Len() > 0 {
			out.kind = kind
		}
		if it.Time != "" {
			time = it.Time
		}
	}
	out.text = tidy(b.String(), maxEntry)
	return out, time
}

// clipID bounds an entry's id, which may be any string.
func clipID(id string) string { return clean(id[:min(len(id), 256)]) }

// A text collects the text of an entry, a little more than is kept.
type text struct{ strings.Builder }

func (b *text) add(s string, most int) {
	if s == "" || b.Len() > 2*maxEntry {
		return
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(s[:min(len(s), most)])
}

// item adds an item's text and returns the kind of its speaker.
func (b *text) item(it *item.Item) (kind string) {
	switch it.Kind {
	case item.Message:
		b.blocks(it.Blocks, 2*maxEntry)
		return string(it.Role)
	case item.Note:
		b.blocks(it.Blocks, 2*maxEntry)
		return "note"
	case item.Compaction, item.Branch:
		b.add(it.Text, 2*maxEntry)
		return "summary"
	case item.Label:
		b.add(it.Text, 2*maxEntry)
		return "label"
	}
	return ""
}

func (b *text) blocks(bs []item.Block, most int) {
	for i := range bs {
		switch bs[i].Kind {
		case item.BlockText:
			b.add(bs[i].Text, most)
		case item.BlockCall:
			b.add(bs[i].Name, maxArgs)
			b.add(string(bs[i].Args), maxArgs)
		case item.BlockResult:
			b.blocks(bs[i].Blocks, maxOutput)
		}
	}
}

// longWord is the length in bytes from which a word may be base64.
const longWord = 60

// tidy returns s without terminal sequences, control characters and base64, cut to
// most bytes.
func tidy(s string, most int) string {
	if !isPlain(s) {
		s = display.WithoutEscapes(strings.ToValidUTF8(s, "\uFFFD"))
		s = withoutBase64(strings.Map(func(r rune) rune {
			if r != '\n' && unicode.IsControl(r) {
				return ' '
			}
			return r
		}, s))
	}
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// isPlain reports whether s is ASCII without control characters, and has no word that
// is long enough to be base64. Most texts are plain.
func isPlain(s string) bool {
	word := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' && c != '\n' || c >= 0x7F:
			return false
		case !isBase64(c):
			word = 0
		case word+1 >= longWord:
			return false
		default:
			word++
		}
	}
	return true
}

// withoutBase64 returns s with an ellipsis for each long run of base64.
func withoutBase64(s string) string {
	var b strings.Builder
	from, begin := 0, -1
	for i := 0; i <= len(s); i++ {
		if i < len(s) && isBase64(s[i]) {
			if begin < 0 {
				begin = i
			}
			continue
		}
		if begin >= 0 && i-begin >= longWord && looksEncoded(s[begin:i]) {
			b.WriteString(s[from:begin])
			b.WriteString("…")
			from = i
		}
		begin = -1
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '='
}

// looksEncoded tells base64 from a long path or a hex digest.
func looksEncoded(s string) bool {
	return strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") &&
		strings.ContainsAny(s, "0123456789") && strings.Count(s, "/") <= len(s)/10
}

// The upper bits of a doc's id are its time in seconds, the lower ones make it
// unique. FTS5 yields texts in the order of their ids, so a search sees them by
// time and stops when its page is full.
const (
	idBits  = 20
	maxTime = 1<<40 - 1 // seconds
)

// idOf returns the preferred id of a doc.
func idOf(session core.SessionID, place int, ms int64) int64 {
	sec := min(max(ms/1000, 0), maxTime)
	h := fnv.New32a()
	h.Write([]byte(session))
	return sec<<idBits | int64(h.Sum32()+uint32(place))&(1<<idBits-1)
}

// timeOf returns the time in an id, in milliseconds.
func timeOf(id int64) int64 { return id >> idBits * 1000 }

// scopeOf returns the words by which a session's texts are narrowed: its id,
// dialect, directory and the directories above it, and its tags.
func scopeOf(id, dialect, cwd string, marks []string) string {
	scope := sessionWord(id) + " " + dialectWord(dialect)
	for _, dir := range dirs(cwd) {
		scope += " " + dirWord(dir)
	}
	for _, m := range marks {
		if strings.HasPrefix(m, tagMark) {
			scope += " " + tagWord(m)
		}
	}
	return scope
}

func sessionWord(id string) string   { return hashWord("s", id) }
func dialectWord(name string) string { return hashWord("d", name) }
func tagWord(mark string) string     { return hashWord("t", mark) }
func dirWord(dir string) string      { return hashWord("c", dir) }

func hashWord(kind, s string) string { return kind + strconv.FormatUint(xxhash.Sum64String(s), 36) }

// maxDirs limits how many directories above a directory are searchable.
const maxDirs = 32

// dirs returns cwd and the directories above it, the topmost first, without the
// root.
func dirs(cwd string) []string {
	var out []string
	for i := 1; i <= len(cwd) && len(out) < maxDirs; i++ {
		if i < len(cwd) && !isSlash(cwd[i]) || isSlash(cwd[i-1]) {
			continue
		}
		out = append(out, cwd[:i])
	}
	return out
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }
