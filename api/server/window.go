package server

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// A list has entries of a session in their order, such as those of a path.
type list struct {
	es    []core.Entry
	spans []span // which of es
}

// A span is es[from:to].
type span struct{ from, to int }

// listOf returns the list of es.
func listOf(es []core.Entry) list {
	if len(es) == 0 {
		return list{}
	}
	return list{es, []span{{0, len(es)}}}
}

func (l list) len() (n int) {
	for _, s := range l.spans {
		n += s.to - s.from
	}
	return n
}

// last returns the id of the last entry, or "".
func (l list) last() string {
	if len(l.spans) == 0 {
		return ""
	}
	end := l.spans[len(l.spans)-1].to
	return l.es[end-1].ID
}

// slice returns the entries from number from to number to of the list.
func (l list) slice(from, to int) (out []core.Entry) {
	for _, s := range l.spans {
		n := s.to - s.from
		if part := (span{max(from, 0), min(to, n)}); part.from < part.to {
			found := l.es[s.from+part.from : s.from+part.to : s.from+part.to]
			if part.to-part.from == to-from { // all of them
				return found
			}
			out = append(out, found...)
		}
		from, to = from-n, to-n
	}
	return out
}

// paths remembers which entries are on paths, so that a window of a long path costs no
// more than its own entries.
type paths struct {
	mu    sync.Mutex
	known map[pathKey][]span
	size  int // of all spans
}

// A pathKey says of which path, and of which entries: while a session only grows, its
// first entries are the same.
type pathKey struct {
	growth *core.Growth
	count  int
	leaf   core.Leaf
}

// Limits of what paths remembers. All is forgotten if there is more.
const (
	maxKnownPaths = 1000
	maxKnownSpans = 50_000
)

// of returns the path to leaf.
func (p *paths) of(st *core.State, leaf core.Leaf) (list, error) {
	key := pathKey{st.Growth(), len(st.Entries), leaf}
	p.mu.Lock()
	spans, known := p.known[key]
	p.mu.Unlock()
	if known {
		return list{st.Entries, spans}, nil
	}
	path, err := st.Dialect.Path(st.Entries, leaf)
	if err != nil {
		return list{}, err
	}
	spans, ok := spansOf(st.Entries, path)
	if !ok {
		return listOf(path), nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := leaf.ID(); ok {
		key.leaf = core.LeafAt(strings.Clone(id)) // not the whole address of a request
	}
	if p.known == nil || len(p.known) >= maxKnownPaths || p.size+len(spans) > maxKnownSpans {
		p.known, p.size = map[pathKey][]span{}, 0
	}
	if len(spans) <= maxKnownSpans {
		p.known[key] = spans
		p.size += len(spans)
	}
	return list{st.Entries, spans}, nil
}

// spansOf returns which of es a path has, and false if they are not in the order of es.
func spansOf(es, path []core.Entry) (spans []span, ok bool) {
	at := 0
	for i := range path {
		begin := at
		for at < len(es) && !sameLine(es[at].Line, path[i].Line) {
			at++
		}
		if at == len(es) {
			return nil, false
		}
		if last := len(spans) - 1; last >= 0 && at == begin {
			spans[last].to++
		} else {
			spans = append(spans, span{at, at + 1})
		}
		at++
	}
	return spans, true
}

// sameLine reports whether two lines are the same memory.
func sameLine(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// windowOf returns those of l that ?from= and ?limit= ask for, and sets the header that
// says which they are and how many there are. Without these parameters, it returns all.
func windowOf(w http.ResponseWriter, r *http.Request, l list) ([]core.Entry, error) {
	q, total := r.URL.Query(), l.len()
	if !q.Has("from") && !q.Has("limit") {
		return l.slice(0, total), nil
	}
	from, err := numberOf(q.Get("from"), 0)
	if err != nil {
		return nil, fmt.Errorf("from=%.64q: use the number of an entry, or a negative one from the end: %w", q.Get("from"), core.ErrInvalid)
	}
	limit, err := numberOf(q.Get("limit"), total)
	if err != nil || limit < 1 && q.Has("limit") {
		return nil, fmt.Errorf("limit=%.64q: use a number, 1 or more: %w", q.Get("limit"), core.ErrInvalid)
	}
	if from < 0 {
		from = max(0, total+from)
	}
	from = min(from, total)
	to := from + min(limit, total-from)
	which := "*"
	if from < to {
		which = fmt.Sprintf("%d-%d", from, to-1)
	}
	w.Header().Set(api.HeaderRange, fmt.Sprintf("%s/%d", which, total))
	return l.slice(from, to), nil
}

// numberOf returns the number that text is, or none if text is empty.
func numberOf(text string, none int) (int, error) {
	if text == "" {
		return none, nil
	}
	return strconv.Atoi(text)
}
