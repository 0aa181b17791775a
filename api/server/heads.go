package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/session"
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
		out, err = s.headsOf(st)
		return err
	})
	if err != nil {
		return err
	}
	s.addLife(r.Context(), &out)
	w.Header().Set(api.HeaderCursor, out.Cursor.String())
	return answer(w, http.StatusOK, out)
}

// addLife adds to each claim whether its holder is alive. It adds nothing if that
// is unknown, so that no client takes a holder for gone.
func (s *Server) addLife(ctx context.Context, hs *api.Heads) {
	var list []session.Present
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
		life := session.LifeOf(list, hs.Session, h.Head, h.Claim, time.Now())
		h.Life = &life
	}
}

func (s *Server) headsOf(st *core.State) (api.Heads, error) {
	out := api.Heads{Session: st.ID, Cursor: st.Cursor(), Heads: []api.HeadInfo{}}
	names := st.HeadNames()
	var way *mainPath
	var path list
	if _, ok := st.Leaf(core.MainHead).ID(); !ok || len(names) > 1 { // it takes time
		var err error
		if path, err = s.paths.of(st, st.Leaf(core.MainHead)); err != nil {
			return out, err
		}
	}
	if len(names) > 1 {
		way = newMainPath(st, path)
	}
	out.More = max(0, len(names)-maxHeads)
	for _, name := range names[:len(names)-out.More] {
		h := st.Heads[name]
		info := api.HeadInfo{Head: name, Leaf: h.Leaf, Seq: h.Seq, Claim: h.Claim}
		id, ok := h.Leaf.ID()
		if !ok && h.Leaf.IsDefault() {
			id = path.last()
		}
		info.Entry = entryAt(st, id)
		if name != core.MainHead {
			info.Fork, info.Ahead, info.Behind = way.apart(id)
		}
		out.Heads = append(out.Heads, info)
	}
	return out, nil
}

// A mainPath is the path from the root to main's leaf, and the branch points
// found so far.
type mainPath struct {
	st   *core.State
	size int
	on   map[string]int  // an entry on it: which one, from 1
	met  map[string]meet // of any other: where it leaves main
}

type meet struct {
	fork  string
	ahead int
}

func newMainPath(st *core.State, l list) *mainPath {
	path := l.slice(0, l.len())
	m := &mainPath{st: st, size: len(path), on: make(map[string]int, len(path)), met: map[string]meet{}}
	for i := range path {
		m.on[path[i].ID] = i + 1
	}
	return m
}

// apart returns how far the entry called id is from main's leaf.
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
		m.met[at] = meet{} // ends cycles
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

// entryAt returns a preview of the entry called id, or nil if it does not exist.
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

// previewSize is the length of an entry's preview, in bytes.
const previewSize = 200

func textOf(it item.Item) string {
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

// branch moves a head to another entry. It appends the agent's own entry for that
// if the agent has one.
func (s *Server) branch(w http.ResponseWriter, r *http.Request) error {
	var q api.BranchRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if q.At.IsDefault() {
		return fmt.Errorf(`the body names no place; send {"at":{"id":"…"}} or {"at":{"none":true}}: %w`, core.ErrInvalid)
	}
	after, err := ifMatch(r)
	if err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	head := r.Header.Get(api.HeaderHead)
	if head == "" {
		head = core.MainHead
	}
	for {
		var line []byte
		unmoved := after
		err = sess.View(func(st *core.State) (err error) {
			line, err = branchLine(st, head, q, storedBefore(st, r, q.At))
			if line == nil && after == nil && moveLine(st.Dialect, q.At) != nil {
				at := st.Cursor()
				unmoved = &at // if the head moves meanwhile, the branch needs an entry
			}
			return err
		})
		if err != nil {
			return err
		}
		if line != nil {
			rec, err := s.appendTo(r, [][]byte{line}, after)
			if err != nil {
				return err
			}
			return s.appended(w, r, rec)
		}
		err = sess.MoveAfter(r.Context(), head, r.Header.Get(api.HeaderWriter), q.At, unmoved)
		if err == nil {
			return answer(w, http.StatusOK, core.Receipt{IDs: []string{}, Cursor: sess.Cursor()})
		}
		if after != nil || unmoved == nil || !errors.Is(err, core.ErrConflict) {
			return err
		}
	}
}

// moveLine returns the entry of d that records a move to leaf, nil if there is none.
func moveLine(d core.Dialect, leaf core.Leaf) []byte {
	id, named := leaf.ID()
	if !named {
		return nil
	}
	line, _ := d.Write(item.Item{Kind: item.Leaf, Target: id})
	return line
}

// storedBefore returns the entry that an earlier request with the key of r stored, or
// nil. at is the entry to branch from.
func storedBefore(st *core.State, r *http.Request, at core.Leaf) *core.Entry {
	key := r.Header.Get(api.HeaderIdempotency)
	if key == "" {
		return nil
	}
	short := derivedID(st, key, 0)
	id := short
	if shortens(st.Dialect) {
		id = engine.DerivedID(st, nil, 0, short, longID(st, key, 0))
	}
	e, ok := st.Entry(id)
	if !ok { // a version before engine.DerivedID may have stored it
		parent, _ := at.ID()
		e, ok = st.Entry(short)
		ok = ok && e.Parent == parent
	}
	if !ok {
		return nil
	}
	return &e
}

// branchLine returns the entry that records q, nil if the head moves without one.
// before is the entry of an earlier request with the same key, or nil. The line then
// names the branch that the head left at that time, so that a retry makes an equal line.
func branchLine(st *core.State, head string, q api.BranchRequest, before *core.Entry) ([]byte, error) {
	left := st.Leaf(head)
	id, named := q.At.ID()
	if _, ok := st.Entry(id); named && !ok {
		return nil, fmt.Errorf("session %s has no entry %.64q: %w", st.ID, id, core.ErrNotFound)
	}
	if st.Dialect.Linear() && left != q.At && before == nil {
		return nil, fmt.Errorf("sessions of %s have no branches: %w", st.Dialect.Name(), core.ErrInvalid)
	}
	if q.Summary == "" {
		if len(q.Details) > 0 && string(q.Details) != "null" {
			return nil, fmt.Errorf("details require a summary: %w", core.ErrInvalid)
		}
		line := moveLine(st.Dialect, q.At)
		if line == nil && before != nil {
			return nil, fmt.Errorf("the key was used for another request, which stored entry %.64q: %w", before.ID, core.ErrConflict)
		}
		if left == q.At && before == nil {
			return nil, nil
		}
		return line, nil
	}
	if before != nil {
		for _, it := range st.Dialect.Read(*before) {
			left = core.LeafAt(it.Target)
		}
	}
	line, lost := st.Dialect.Write(tree.BranchSummary(st.Dialect, left, q.At, q.Summary, q.Details))
	if line == nil || len(lost) > 0 {
		return nil, fmt.Errorf("%s has no place for this summary %.64q: %w", st.Dialect.Name(), lost, core.ErrInvalid)
	}
	// Set the parent: it differs from the head's leaf.
	e, err := st.Dialect.Fill(line, core.Fields{Parent: q.At})
	return e.Line, err
}

func (s *Server) move(w http.ResponseWriter, r *http.Request) error {
	var q api.MoveRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if q.Leaf.IsDefault() && q.Note == nil {
		return fmt.Errorf(`the body names no leaf; send {"leaf":{"id":"…"}} or {"leaf":{"none":true}}: %w`, core.ErrInvalid)
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	after, err := ifMatch(r)
	if err != nil {
		return err
	}
	m := core.Move{Leaf: q.Leaf}
	if q.Note != nil {
		if err := checkText(q.Note.By, q.Note.Host, q.Note.Why); err != nil {
			return err
		}
		n := coreNotice(*q.Note)
		m.Note = &n
	}
	if err := sess.MoveNoted(r.Context(), r.PathValue("head"), r.Header.Get(api.HeaderWriter), m, after); err != nil {
		return err
	}
	// Answer from memory: another read of the log could fail after the move was
	// stored.
	return answerInfo(w, sess, dialect.Profile{})
}

func (s *Server) claim(w http.ResponseWriter, r *http.Request) error {
	var q core.ClaimRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.Agent, q.Host, q.By, q.From); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	mine, former, err := sess.Claim(r.Context(), core.ClaimRequest(q))
	if err != nil {
		return s.withLife(r.Context(), err)
	}
	head := q.Head
	if head == "" {
		head = core.MainHead
	}
	return answer(w, http.StatusCreated, api.Claimed{Claim: mine, Head: head, Former: former})
}

func (s *Server) release(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	head := r.URL.Query().Get("head")
	if head == "" {
		head = core.MainHead
	}
	if err := sess.Release(r.Context(), head, r.PathValue("name"), core.Notice{}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
