package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/session/catalog"
)

// A treePage shows all branches of a session.
type treePage struct {
	*session
	Family     []kin
	Nodes      []node
	From       int
	Total      int
	Prev, Next string // addresses of other parts
}

// A node is an entry in the tree.
type node struct {
	display.TreeNode
	Heads []string // that point to it
	Kind  string
	Who   string // the speaker, or the entry's type
	Text  string
	Level int  // of branches: entries of one branch have the same
	First bool // of its branch
}

const (
	treeSize  = 500 // nodes of a page
	maxIndent = 24
)

func (p *page) tree(w http.ResponseWriter, r *http.Request) error {
	s, src, err := p.open(r, "tree")
	if err != nil {
		return err
	}
	all, err := src.Tree(r.Context(), src.id)
	if err != nil {
		return err
	}
	family, err := src.family(r.Context())
	if err != nil {
		return err
	}
	from, _ := strconv.Atoi(r.FormValue("from"))
	from = min(max(0, from), len(all))
	view := treePage{session: s, Family: family, From: from, Total: len(all)}
	if from > 0 {
		view.Prev = "?from=" + strconv.Itoa(max(0, from-treeSize))
	}
	if from+treeSize < len(all) {
		view.Next = "?from=" + strconv.Itoa(from+treeSize)
	}
	heads := map[string][]string{}
	for _, h := range s.Heads {
		if entry, ok := h.Leaf.ID(); ok {
			heads[entry] = append(heads[entry], h.Head)
		}
	}
	shown := map[string]*node{}
	levels, firsts := branches(all)
	for i, n := range all[from:min(from+treeSize, len(all))] {
		view.Nodes = append(view.Nodes, node{TreeNode: n, Heads: heads[n.ID], Who: line(n.Type, 40), Level: min(levels[from+i], maxIndent), First: firsts[from+i]})
	}
	for i := range view.Nodes {
		shown[view.Nodes[i].ID] = &view.Nodes[i]
	}
	if err := src.describe(r.Context(), shown); err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "tree.html", view)
}

// branches returns how many branches are between the root and each node, and
// whether the node is the first of its branch.
func branches(all []display.TreeNode) (levels []int, firsts []bool) {
	parents, children := display.Parents(all)
	levels, firsts = make([]int, len(all)), make([]bool, len(all))
	for i, p := range parents {
		if p < 0 {
			continue
		}
		levels[i] = levels[p]
		if children[p] > 1 {
			levels[i]++
			firsts[i] = true
		}
	}
	return levels, firsts
}

// describe sets the texts of nodes.
func (s *source) describe(ctx context.Context, nodes map[string]*node) error {
	entries := newEntryReader(s.d, s.base)
	return s.EachEntry(ctx, s.id, func(line []byte) error {
		e, err := s.d.Entry(line)
		n := nodes[e.ID]
		if err != nil || n == nil || n.Text != "" {
			return nil
		}
		clear(entries.calls)
		if shown := entries.read(e, 0); shown != nil && shown.Kind != "silent" {
			n.Kind, n.Who, n.Text = shown.Kind, cmp.Or(shown.Who, n.Who), shown.gist()
		}
		return nil
	})
}

// gist returns what an entry says in one line.
func (out *entry) gist() string {
	for _, b := range out.Blocks {
		if text := join(" ", b.Label, b.Gist); text != "" && b.Kind != "thinking" {
			return text
		}
	}
	return ""
}

// A usagePage shows what a session used.
type usagePage struct {
	*session
	Usage api.SessionUsage
	Chart *chart
}

func (p *page) usage(w http.ResponseWriter, r *http.Request) error {
	s, src, err := p.open(r, "usage")
	if err != nil {
		return err
	}
	view := usagePage{session: s}
	if view.Usage, err = src.Usage(r.Context(), src.id, client.View{}); err != nil {
		return err
	}
	if view.Chart, err = src.chart(r.Context()); err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "usage.html", view)
}

// A searchPage shows the entries that a search finds.
type searchPage struct {
	Text    string
	Session *session // that is searched; nil for all
	Hits    []hit
	Next    string
}

// A hit is an entry that was found. Its text is in pieces: every second one matches.
type hit struct {
	catalog.Hit
	Pieces []string
}

func (p *page) search(w http.ResponseWriter, r *http.Request) error {
	c := p.client(r)
	view := searchPage{Text: r.FormValue("q")}
	q := catalog.SearchQuery{Text: view.Text, Session: core.SessionID(r.FormValue("session")), Before: r.FormValue("before"), Limit: pageSize}
	if q.Session != "" {
		row, err := rowOf(r.Context(), c, q.Session)
		if err != nil {
			return err
		}
		view.Session = &session{Row: row, Base: sessionBase(row.ID), Head: core.MainHead}
	}
	if view.Text == "" {
		if _, err := c.Whoami(r.Context()); err != nil {
			return err
		}
		return p.show(w, http.StatusOK, "search.html", view)
	}
	found, err := c.Search(r.Context(), q)
	if err != nil {
		return err
	}
	for _, h := range found.Hits {
		view.Hits = append(view.Hits, hit{h, pieces(h.Snippet, h.Matches)})
	}
	if found.Next != "" {
		next := url.Values{"q": {view.Text}, "before": {found.Next}}
		if q.Session != "" {
			next.Set("session", string(q.Session))
		}
		view.Next = "/search?" + next.Encode()
	}
	return p.show(w, http.StatusOK, "search.html", view)
}

// pieces cuts a text before and after each match.
func pieces(text string, matches []catalog.Span) (out []string) {
	end := 0
	for _, m := range matches {
		if m.From < end || m.To < m.From || m.To > len(text) {
			continue
		}
		out = append(out, visible(text[end:m.From]), visible(text[m.From:m.To]))
		end = m.To
	}
	return append(out, visible(text[end:]))
}

// A healthPage shows the state of the node and of its log.
type healthPage struct {
	Status  api.Status
	Present api.PresenceList
}

func (p *page) health(w http.ResponseWriter, r *http.Request) error {
	c := p.client(r)
	var view healthPage
	var err error
	if view.Status, err = c.Status(r.Context()); err != nil {
		return err
	}
	if view.Present, err = c.Presence(r.Context()); err != nil && !errors.Is(err, core.ErrNotFound) { // a node may keep none
		return err
	}
	return p.show(w, http.StatusOK, "health.html", view)
}
