package convert

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/core/optional"
)

// A Request says what to convert. Convert does not modify its entries.
type Request struct {
	From    core.Dialect
	To      core.Dialect
	Header  core.Header
	Entries []core.Entry
	Leaf    core.Leaf // the position of the session
	ID      string    // of the session that is made; see SessionID
	Time    string    // when it is made, ISO 8601 with milliseconds and Z; default 1970
}

// A Result is the converted session.
type Result struct {
	Header  core.Header
	Entries []core.Entry
	Leaf    core.Leaf
	Lost    []Loss // the most frequent first
}

// A Loss is something that the other agent's sessions have no place for.
type Loss struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// SessionID is what a session that was made of the one called source, for the
// dialect called to, is called: a UUID, the same each time.
func SessionID(source, to string) string {
	h := sha256.Sum256([]byte(source + "\x00" + to))
	return newid.UUID([16]byte(h[:16]))
}

// Convert returns the session in the dialect q.To. A session that has this
// dialect already is returned unchanged. Returns core.ErrNotFound if the leaf
// does not exist, and core.ErrInvalid if sessions of q.To hold no conversation.
func Convert(q Request) (Result, error) {
	if q.From.Name() == q.To.Name() {
		return Result{Header: q.Header, Entries: q.Entries, Leaf: q.Leaf}, nil
	}
	if !Converses(q.To) {
		return Result{}, fmt.Errorf("a session of %s has no place for messages: %w", q.To.Name(), core.ErrInvalid)
	}
	q.Time = cmp.Or(q.Time, "1970-01-01T00:00:00.000Z")
	path, err := q.From.Path(q.Entries, q.Leaf)
	if err != nil {
		return Result{}, err
	}
	q.Time = clock(q)
	line := q.To.NewHeader(core.HeaderFields{ID: q.ID, Time: q.Time, CWD: q.Header.CWD, Parent: q.Header.ID})
	h, err := q.To.Header(line)
	if err != nil {
		return Result{}, fmt.Errorf("header of a session of %s: %w", q.To.Name(), err)
	}
	c := &conversion{
		Request: q, lost: map[string]int{}, taken: map[string]bool{}, kept: map[string]bool{},
		last: map[string]string{}, first: map[string]string{}, models: map[string]model{}, tools: map[string]string{},
	}
	switch n, narrates := q.From.(optional.Narrator); {
	case narrates:
		c.narration(n)
	case isChain(q.To):
		c.chain(path)
	default:
		c.tree(path)
	}
	if c.err != nil {
		return Result{}, c.err
	}
	if err := c.name(h); err != nil {
		return Result{}, err
	}
	c.restoreLeaf()
	return Result{Header: h, Entries: c.out, Leaf: c.leaf, Lost: c.losses()}, c.err
}

// isChain reports whether sessions of d get one path, without what a compaction
// replaced: because they are chains, or because their agent writes a compaction
// as several lines, so that no line can say which range it replaces.
func isChain(d core.Dialect) bool {
	_, several := d.(bundle.Bundler)
	return several || d.Linear()
}

// Converses reports whether sessions of d hold messages, so that other sessions
// can be converted to d.
func Converses(d core.Translator) bool {
	line, _ := d.Write(item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockText, Text: "?"}}})
	return line != nil
}

// A conversion is a session on its way.
type conversion struct {
	Request
	out    []core.Entry
	leaf   core.Leaf         // the position of the new session
	lost   map[string]int    // how often what
	taken  map[string]bool   // ids of new entries
	kept   map[string]bool   // ids of old entries, which keep them
	last   map[string]string // by old id: the new entry that represents it, or what came before it
	first  map[string]string // by old id: the first of the new entries made from it
	models map[string]model  // by new id: which model answers there
	tools  map[string]string // by the id of a call: the tool it calls
	steps  int               // taken up the tree, for what compactions kept
	up     map[string]string // parents by id; filled on first use
	err    error
}

type model struct{ provider, name string }

func (c *conversion) lose(what string) { c.lost[what]++ }

func (c *conversion) losses() []Loss {
	ls := []Loss{}
	for what, n := range c.lost {
		ls = append(ls, Loss{what, n})
	}
	slices.SortFunc(ls, func(a, b Loss) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return slices.Compare([]byte(a.What), []byte(b.What))
	})
	return ls
}

// put adds the entry that says it as a child of the new entry parent, empty for
// a root. Its id is want if that is free. Returns the new entry's id, or parent
// if the target's format has no entry for it.
func (c *conversion) put(it item.Item, want, parent string) string {
	it = c.fit(it, parent)
	line, lost := c.To.Write(it)
	if line == nil {
		if len(lost) == 0 {
			lost = []string{plural(it.Kind)}
		}
		for _, what := range lost {
			c.lose(what)
		}
		return parent
	}
	for _, what := range lost {
		if what != item.LostModel {
			c.lose(what)
			continue
		}
		if now := (model{it.Provider, it.Model}); c.models[parent] != now {
			parent = c.put(item.Item{Kind: item.Model, Time: it.Time, Provider: now.provider, Model: now.name}, c.newID(want+" model "+strconv.Itoa(len(c.out))), parent)
		}
	}
	return c.add(line, it, want, parent)
}

// fit returns it with what other entries say about it: the time, the model that
// answers at parent, the tool whose result it is.
func (c *conversion) fit(it item.Item, parent string) item.Item {
	if it.Time == "" {
		it.Time = c.Time
	}
	it.Blocks = c.named(it.Blocks)
	if it.Kind == item.Message && it.Role == item.RoleAssistant && it.Model == "" {
		it.Provider, it.Model = c.models[parent].provider, c.models[parent].name
	}
	return it
}

// named returns blocks in which results have the name of their tool, as the
// call with their id has it: some agents write it there only.
func (c *conversion) named(blocks []item.Block) []item.Block {
	out := blocks
	for i, b := range blocks {
		switch {
		case b.Kind == item.BlockCall:
			c.tools[b.ID] = b.Name
		case b.Kind == item.BlockResult && b.Name == "" && c.tools[b.ID] != "":
			if &out[0] == &blocks[0] {
				out = slices.Clone(blocks)
			}
			out[i].Name = c.tools[b.ID]
		}
	}
	return out
}

func (c *conversion) add(line []byte, it item.Item, want, parent string) string {
	id := want
	switch {
	case c.To.Linear():
		id = strconv.Itoa(len(c.out))
	case id == "" || c.taken[id]:
		id = c.newID(want + " " + strconv.Itoa(len(c.out)))
	}
	f := core.Fields{ID: id, Parent: core.NoLeaf, Time: cmp.Or(it.Time, c.Time)}
	if parent != "" {
		f.Parent = core.LeafAt(parent)
	}
	e, err := c.To.Fill(line, f)
	if err != nil {
		c.err = fmt.Errorf("%s in the words of %s: %w", it.Kind, c.To.Name(), err)
		return parent
	}
	c.taken[e.ID] = true
	c.out = append(c.out, e)
	if e.Aside {
		return parent
	}
	c.models[e.ID] = c.modelAfter(it, parent)
	return e.ID
}

// modelAfter is the model that answers after it.
func (c *conversion) modelAfter(it item.Item, parent string) model {
	says := it.Kind == item.Model && it.For == "" || it.Role == item.RoleAssistant && it.Model != ""
	if says {
		return model{it.Provider, it.Model}
	}
	return c.models[parent]
}

// newID returns a free id, derived from its purpose.
func (c *conversion) newID(what string) string {
	for n := 0; ; n++ {
		h := sha256.Sum256([]byte(c.ID + "\x00" + what + "\x00" + strconv.Itoa(n)))
		if id := c.To.EntryID([16]byte(h[:16])); !c.taken[id] && !c.kept[id] {
			return id
		}
	}
}

func plural(kind item.Kind) string {
	switch kind {
	case item.Branch:
		return "summaries of branches"
	case item.Level:
		return "thinking levels"
	case item.Model:
		return "changes of the model"
	case item.Custom:
		return "entries of extensions"
	}
	return string(kind) + "s"
}
