package index_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/session/catalog"
)

var (
	seed = flag.Uint64("seed", 0, "seed of the random tests; 0 for another one each time")
	long = flag.Bool("long", false, "run the long forms")
)

// newRand returns a random source, and logs its seed.
func newRand(t testing.TB) *rand.Rand {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", s)
	return rand.New(rand.NewPCG(s, 1))
}

func open(t testing.TB, path string) *index.Index {
	t.Helper()
	x, err := index.Open(t.Context(), index.Config{Path: path, Log: "main"})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func newIndex(t testing.TB) *index.Index {
	t.Helper()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// A world creates sessions like those of a fleet: some directories and words are
// frequent, most are rare.
type world struct {
	rng   *rand.Rand
	words *rand.Zipf
	dirs  *rand.Zipf
	begin time.Time
	said  map[*materializer.View][]said
}

const vocabulary = 20_000

func newWorld(rng *rand.Rand) *world {
	return &world{
		rng: rng, words: rand.NewZipf(rng, 1.3, 8, vocabulary-1), dirs: rand.NewZipf(rng, 1.2, 20, 1999),
		begin: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), said: map[*materializer.View][]said{},
	}
}

// word returns the nth word of the vocabulary, the most frequent first: syllables
// of one of 20 consonants and one of 5 vowels, so that trigrams are as selective as
// in a language.
func word(n uint64) string {
	const consonants, vowels = "klmnrtsvpdgfbzxhcjwq", "aeiou"
	s := ""
	for n = n*7919%vocabulary + 107; n > 0; n /= 100 {
		s += consonants[n%20:n%20+1] + vowels[n/20%5:n/20%5+1]
	}
	return s
}

func (w *world) text(n int) string {
	ws := make([]string, n)
	for i := range ws {
		ws[i] = word(w.words.Uint64())
	}
	return strings.Join(ws, " ")
}

// dir returns the nth directory, the most used first.
func dir(n uint64) string {
	return fmt.Sprintf("/home/user%d/team%d/project-%d", n%23, n%7, n)
}

func (w *world) time() time.Time {
	return w.begin.Add(time.Duration(w.rng.Int64N(int64(2 * 365 * 24 * time.Hour)))).Truncate(time.Millisecond)
}

var pi = dialect.All()["pi"]

func iso(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// message returns an entry of a session.
func message(i int, role, text string, at time.Time) core.Entry {
	id := fmt.Sprintf("e%07d", i)
	line := fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":%q,"message":{"role":%q,"content":[{"type":"text","text":%q}]}}`, id, iso(at), role, text)
	return core.Entry{Line: []byte(line), ID: id, Type: "message", Time: iso(at)}
}

func labelEntry(i int, target, label string, at time.Time) core.Entry {
	id := fmt.Sprintf("e%07d", i)
	line := fmt.Sprintf(`{"type":"label","id":%q,"parentId":null,"timestamp":%q,"targetId":%q,"label":%q}`, id, iso(at), target, label)
	return core.Entry{Line: []byte(line), ID: id, Type: "label", Time: iso(at)}
}

// session creates the ith session.
func (w *world) session(i int) *materializer.View {
	created := w.time()
	modified := created.Add(time.Duration(w.rng.Int64N(int64(90 * 24 * time.Hour)))).Truncate(time.Millisecond)
	first := w.text(6 + w.rng.IntN(14))
	v := &materializer.View{Dialect: pi, Claims: map[string]core.Claim{}, Row: catalog.Row{
		ID: core.SessionID(fmt.Sprintf("%08x%08x", w.rng.Uint32(), i)), Dialect: []string{"pi", "pi", "omp", "operator", "nova"}[w.rng.IntN(5)],
		CWD: dir(w.dirs.Uint64()), Seq: 1 + w.rng.Uint64N(50), Snapshot: w.rng.Uint64N(50), Closed: w.rng.IntN(3) == 0, Deleted: w.rng.IntN(40) == 0,
		Summary: display.Summary{First: first, Created: iso(created), Modified: iso(modified), Messages: 3, Usage: item.Usage{Cost: float64(w.rng.IntN(4000)) / 100}},
	}}
	r := &v.Row
	if w.rng.IntN(4) == 0 {
		r.Name = strings.ToUpper(word(w.words.Uint64())[:2]) + " " + w.text(2)
	}
	if w.rng.IntN(10) == 0 {
		r.Modified = ""
	}
	if w.rng.IntN(3) == 0 {
		r.Changed = iso(w.time())
	}
	for w.rng.IntN(4) == 0 {
		r.Tags = append(r.Tags, fmt.Sprintf("tag-%d", w.rng.IntN(300)))
	}
	if w.rng.IntN(50) == 0 {
		c := core.Claim{Agent: "pi", Host: fmt.Sprintf("host-%d", w.rng.IntN(200)), By: "ann", Writer: fmt.Sprintf("writer-%d", i), Since: modified}
		head := []string{core.MainHead, "side"}[w.rng.IntN(2)]
		v.Claims[head] = c
		if head == core.MainHead {
			r.Holder = &c
		}
	}
	v.Entries = []core.Entry{message(0, "user", first, created), message(1, "assistant", w.text(30), created.Add(time.Minute)), message(2, "user", w.text(10), modified)}
	if w.rng.IntN(20) == 0 {
		v.Entries = append(v.Entries, labelEntry(3, "e0000001", fmt.Sprintf("label %d", w.rng.IntN(40)), modified))
	}
	w.settle(v)
	return v
}

// settle updates a row's size and number of entries.
func (w *world) settle(v *materializer.View) {
	v.Row.Entries, v.Row.Size = len(v.Entries), 0
	for i := range v.Entries {
		v.Row.Size += int64(len(v.Entries[i].Line)) + 1
	}
}

// change returns a later state of a session.
func (w *world) change(v *materializer.View) *materializer.View {
	n := *v
	n.Row.Seq += 1 + w.rng.Uint64N(3)
	n.Entries = slices.Clone(v.Entries)
	at := w.time()
	switch w.rng.IntN(6) {
	case 0:
		n.Row.Deleted = !n.Row.Deleted
	case 1:
		n.Row.Name, n.Row.Changed = w.text(2), iso(at)
	case 2: // an entry is replaced
		n.Entries[0] = message(0, "user", "redacted", at)
	case 3:
		n.Row.Tags = []string{fmt.Sprintf("tag-%d", w.rng.IntN(300))}
		n.Claims = map[string]core.Claim{"other": {Host: "host-1", Writer: "w", Since: at}}
	default:
		n.Entries = append(n.Entries, message(len(n.Entries), "user", w.text(5), at))
		n.Row.Modified = iso(at)
	}
	w.settle(&n)
	return &n
}

// An oracle is a model: it knows all sessions, and looks through all of them for
// each query.
type oracle map[core.SessionID]*materializer.View

func (o oracle) list(f catalog.Filter) []core.SessionID {
	var vs []*materializer.View
	for _, v := range o {
		if matches(v, &f) {
			vs = append(vs, v)
		}
	}
	slices.SortFunc(vs, func(a, b *materializer.View) int {
		c := cmp.Or(compare(a, b, f.Sort), strings.Compare(string(a.Row.ID), string(b.Row.ID)))
		if f.Reverse {
			return -c
		}
		return c
	})
	ids := make([]core.SessionID, len(vs))
	for i, v := range vs {
		ids[i] = v.Row.ID
	}
	return ids
}

func compare(a, b *materializer.View, by catalog.Sort) int {
	switch by {
	case catalog.SortChanged:
		return strings.Compare(b.Row.LastChange(), a.Row.LastChange())
	case catalog.SortCreated:
		return strings.Compare(b.Row.Created, a.Row.Created)
	case catalog.SortName:
		return strings.Compare(strings.ToLower(a.Row.Name), strings.ToLower(b.Row.Name))
	case catalog.SortSize:
		return cmp.Compare(b.Row.Size, a.Row.Size)
	case catalog.SortCost:
		return cmp.Compare(b.Row.Usage.Cost, a.Row.Usage.Cost)
	case catalog.SortEntries:
		return cmp.Compare(b.Row.Entries, a.Row.Entries)
	}
	return strings.Compare(last(b), last(a))
}

func last(v *materializer.View) string { return cmp.Or(v.Row.Modified, v.Row.Created) }

func matches(v *materializer.View, f *catalog.Filter) bool {
	r := &v.Row
	in := func(s, part string) bool {
		return part == "" || strings.Contains(strings.ToLower(s), strings.ToLower(part))
	}
	for _, tag := range f.Tags {
		if !slices.Contains(r.Tags, tag) {
			return false
		}
	}
	holds := false
	silent := false
	for head, c := range v.Claims {
		holds = holds || slices.Contains([]string{c.Agent, c.Host, c.By, c.Writer}, f.Holder)
		silent = silent || f.Silence != nil && !c.Since.After(f.Silence.Since) && !slices.ContainsFunc(f.Silence.Alive, func(h hold) bool {
			return h.Session == r.ID && h.Head == head && h.Writer == c.Writer
		})
	}
	below := r.CWD == f.CWD || f.Below && strings.HasPrefix(r.CWD, strings.TrimRight(f.CWD, "/")+"/")
	return r.Deleted == f.Deleted && strings.HasPrefix(string(r.ID), f.Prefix) && strings.HasPrefix(string(r.ID), f.Within) && (f.CWD == "" || below) &&
		(f.Dialect == "" || r.Dialect == f.Dialect) && (f.Holder == "" || holds) && (f.Label == "" || slices.Contains(labels(v), f.Label)) &&
		in(r.Name, f.Name) && (in(r.Name, f.Text) || in(r.First, f.Text)) && isAt(v, f.State, silent) && isFuzzy(r.Name+"\x1f"+r.First, f.Fuzzy) &&
		within(moment(r.Created), f.Created, time.Time.Compare) && within(moment(last(v)), f.Modified, time.Time.Compare) &&
		within(r.Size, f.Size, cmp.Compare[int64]) && within(r.Usage.Cost, f.Cost, cmp.Compare[float64])
}

func isFuzzy(s, words string) bool {
	for _, word := range strings.Fields(strings.ToLower(words)) {
		rest := strings.ToLower(s)
		for _, r := range word {
			_, after, ok := strings.Cut(rest, string(r))
			if !ok {
				return false
			}
			rest = after
		}
	}
	return true
}

func isAt(v *materializer.View, s catalog.State, silent bool) bool {
	switch s {
	case catalog.StateOpen:
		return !v.Row.Closed
	case catalog.StateClosed:
		return v.Row.Closed
	case catalog.StateHeld:
		return len(v.Claims) > 0
	case catalog.StateInterrupted:
		return silent && !v.Row.Closed
	}
	return true
}

func moment(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t
}

func within[T any](v T, r catalog.Range[T], compare func(a, b T) int) bool {
	return (r.From == nil || compare(v, *r.From) >= 0) && (r.To == nil || compare(v, *r.To) <= 0)
}

func labels(v *materializer.View) []string {
	var out []string
	for _, e := range v.Entries {
		if e.Type != "label" {
			continue
		}
		for _, it := range pi.Read(e) {
			if it.Kind == item.Label {
				out = append(out, it.Text)
			}
		}
	}
	return out
}

// prompts returns the prompts of all sessions outside of the trash, newest first: of
// successive equal ones the first.
func (o oracle) prompts(f catalog.PromptQuery) []string {
	type asked struct {
		at    time.Time
		place int
		line  string
		id    core.SessionID
	}
	var all []asked
	for id, v := range o {
		if v.Row.Deleted || f.CWD != "" && v.Row.CWD != f.CWD || f.Dialect != "" && v.Row.Dialect != f.Dialect {
			continue
		}
		before := ""
		for i, e := range v.Entries {
			for _, it := range pi.Read(e) {
				if it.Kind != item.Message || it.Role != item.RoleUser || it.Blocks[0].Text == before {
					continue
				}
				before = it.Blocks[0].Text
				if hasAll(spread(before), strings.Fields(f.Text)) {
					all = append(all, asked{moment(e.Time), i, fmt.Sprintf("%s %s %s", id, e.ID, before), id})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b asked) int {
		return cmp.Or(b.at.Compare(a.at), strings.Compare(string(b.id), string(a.id)), b.place-a.place)
	})
	lines := make([]string, len(all))
	for i := range all {
		lines[i] = all[i].line
	}
	return lines
}

// A said is a text of a session and its entry.
type said struct{ entry, text string }

// saids returns the texts of v, and caches them: views do not change.
func (w *world) saids(v *materializer.View) []said {
	if out, ok := w.said[v]; ok {
		return out
	}
	out := []said{{"", spread(v.Row.Name)}}
	for _, e := range v.Entries {
		text := ""
		for _, it := range pi.Read(e) {
			text += it.Text
			for _, b := range it.Blocks {
				text += b.Text
			}
		}
		out = append(out, said{e.ID, spread(text)})
	}
	w.said[v] = out
	return out
}

// search returns the session and entry of every text that has all of terms: a word,
// a phrase, or a prefix with * after it.
func (w *world) search(o oracle, f catalog.Filter, terms []string) []string {
	var found []string
	for id, v := range o {
		if !matches(v, &f) {
			continue
		}
		for _, s := range w.saids(v) {
			if hasAll(s.text, terms) {
				found = append(found, string(id)+" "+s.entry)
			}
		}
	}
	slices.Sort(found)
	return found
}

// spread returns text in the form for hasAll.
func spread(text string) string { return " " + strings.ToLower(text) + " " }

func hasAll(text string, terms []string) bool {
	for _, t := range terms {
		t, prefix := strings.CutSuffix(strings.Trim(strings.ToLower(t), `"`), "*")
		if !strings.Contains(text, " "+strings.TrimRight(t, `"`)+map[bool]string{true: "", false: " "}[prefix]) {
			return false
		}
	}
	return true
}
