package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// maxHeads bounds a listing of heads.
const maxHeads = 1000

func (s *Server) heads(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var out api.Heads
	err = sess.View(func(st *core.State) (err error) {
		out, err = headsOf(st)
		return err
	})
	if err != nil {
		return err
	}
	s.addLife(r.Context(), &out)
	w.Header().Set(api.HeaderCursor, out.Cursor.String())
	return answer(w, http.StatusOK, out)
}

// addLife says of each claim whether its holder is there, and nothing where that
// cannot be told: then nobody is to take it for gone.
func (s *Server) addLife(ctx context.Context, hs *api.Heads) {
	var list []stream.Present
	asked, told := false, false
	for i := range hs.Heads {
		h := &hs.Heads[i]
		if h.Claim == nil {
			continue
		}
		if !asked {
			list, told = s.present(ctx)
			asked = true
		}
		if !told {
			return
		}
		life := stream.LifeOf(list, hs.Session, h.Head, h.Claim, time.Now())
		h.Life = &life
	}
}

func headsOf(st *core.State) (api.Heads, error) {
	out := api.Heads{Session: st.ID, Cursor: st.Cursor(), Heads: []api.HeadInfo{}}
	way, err := newMainPath(st)
	if err != nil {
		return out, err
	}
	names := st.HeadNames()
	out.More = max(0, len(names)-maxHeads)
	for _, name := range names[:len(names)-out.More] {
		h := st.Heads[name]
		info := api.HeadInfo{Head: name, Leaf: h.Leaf, Seq: h.Seq, Claim: h.Claim}
		id, ok := h.Leaf.ID()
		if !ok && h.Leaf.IsDefault() {
			id = way.last
		}
		info.Entry = entryAt(st, id)
		if name != core.MainHead {
			info.Fork, info.Ahead, info.Behind = way.apart(id)
		}
		out.Heads = append(out.Heads, info)
	}
	return out, nil
}

// A mainPath is the way from the root to where main stands, and what was found
// on the way to it from elsewhere.
type mainPath struct {
	st   *core.State
	last string
	size int
	on   map[string]int  // an entry on it: which one, from 1
	met  map[string]meet // of any other: where it leaves main
}

type meet struct {
	fork  string
	ahead int
}

func newMainPath(st *core.State) (*mainPath, error) {
	path, err := st.Dialect.Path(st.Entries, st.Leaf(core.MainHead))
	if err != nil {
		return nil, err
	}
	m := &mainPath{st: st, size: len(path), on: make(map[string]int, len(path)), met: map[string]meet{}}
	for i := range path {
		m.on[path[i].ID] = i + 1
		m.last = path[i].ID
	}
	return m, nil
}

// apart is how far the entry called id is from where main stands.
func (m *mainPath) apart(id string) (fork string, ahead, behind int) {
	var steps []string
	at := id
	found, known := meet{}, false
	for at != "" && !known {
		if _, ok := m.on[at]; ok {
			found = meet{fork: at}
			break
		}
		if found, known = m.met[at]; known {
			break
		}
		m.met[at] = meet{} // a way that comes back here ends
		steps = append(steps, at)
		e, ok := m.st.Entry(at)
		if !ok {
			break
		}
		at = e.Parent
	}
	for i := len(steps) - 1; i >= 0; i-- {
		found.ahead++
		m.met[steps[i]] = found
	}
	return found.fork, found.ahead, m.size - m.on[found.fork]
}

// entryAt is the entry called id at a glance, nil where it is not there.
func entryAt(st *core.State, id string) *api.HeadEntry {
	e, ok := st.Entry(id)
	if !ok {
		return nil
	}
	out := &api.HeadEntry{ID: e.ID, Type: e.Type}
	for _, it := range st.Dialect.Read(e) {
		if out.Text = textOf(it); out.Text != "" {
			break
		}
	}
	return out
}

// previewSize is how much of what an entry says is shown, in bytes.
const previewSize = 200

func textOf(it core.Item) string {
	text := it.Text
	for i := 0; i < len(it.Blocks) && text == ""; i++ {
		text = it.Blocks[i].Text
	}
	text = strings.Join(strings.Fields(text[:min(len(text), 2*previewSize)]), " ")
	if len(text) > previewSize {
		text = text[:previewSize] + "…"
	}
	if text == "" {
		return ""
	}
	text = strings.ToValidUTF8(text, "")
	if it.Role != "" {
		text = string(it.Role) + ": " + text
	}
	return text
}
