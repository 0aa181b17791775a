package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/image"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
)

func (s *Server) info(w http.ResponseWriter, r *http.Request) error {
	p, err := profileOf(r)
	if err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var info api.Info
	err = viewAt(r, sess, func(st *core.State) error {
		info, err = infoOfState(st, p)
		return err
	})
	if err != nil {
		return err
	}
	if notModified(w, r, info.Log.Cursor.String()) {
		return nil
	}
	return answer(w, http.StatusOK, info)
}

// viewAt calls f with the session as it is, or, with ?at=, as it was then.
func viewAt(r *http.Request, sess *engine.Session, f func(*core.State) error) error {
	at := r.URL.Query().Get("at")
	if at == "" {
		return sess.View(f)
	}
	m, err := momentOf(at)
	if err != nil {
		return err
	}
	if err := memory.Grow(r.Context(), sess.Size()); err != nil { // a second copy of the session
		return err
	}
	return sess.ViewAt(r.Context(), m, f)
}

// momentOf reads at: the number of a record, a cursor, or entry:ID.
func momentOf(at string) (m engine.Moment, err error) {
	var isEntry bool
	if m.Entry, isEntry = strings.CutPrefix(at, "entry:"); isEntry && m.Entry != "" {
		return m, nil
	}
	m.Entry = ""
	if strings.Contains(at, "-") {
		m.Cursor, err = core.ParseCursor(at)
		m.Seq = m.Cursor.Seq
	} else {
		m.Seq, err = strconv.ParseUint(at, 10, 64)
	}
	if err != nil || m.Seq == 0 {
		return m, fmt.Errorf("at=%.64q: use the number of a record, a cursor, or entry:ID: %w", at, core.ErrInvalid)
	}
	return m, nil
}

// answerInfo answers with the session as it is in memory.
func answerInfo(w http.ResponseWriter, sess *engine.Session, p dialect.Profile) error {
	info, err := infoOf(sess, p)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, info)
}

func infoOf(sess *engine.Session, p dialect.Profile) (info api.Info, err error) {
	err = sess.View(func(st *core.State) error {
		info, err = infoOfState(st, p)
		return err
	})
	return info, err
}

// infoOfState returns what the agent of p shows of the session, and what the log
// knows.
func infoOfState(st *core.State, p dialect.Profile) (api.Info, error) {
	v, err := viewOf(st, p, st.Leaf(core.MainHead))
	if err != nil {
		return api.Info{}, err
	}
	info, err := v.Dialect.Info(v.Header, v.Entries, v.Leaf)
	if err != nil {
		return api.Info{}, err
	}
	heads := make(map[string]*core.Head, len(st.Heads))
	for name, h := range st.Heads {
		copied := *h
		heads[name] = &copied
	}
	return api.Info{Info: info, Log: api.LogInfo{
		Session:    st.ID,
		Dialect:    st.Dialect.Name(),
		Cursor:     st.Cursor(),
		Heads:      heads,
		Epoch:      st.Epoch,
		Origin:     st.Origin,
		Checkpoint: st.Checkpointed,
		Closed:     st.Closed,
		Deleted:    st.Deleted,
		Erased:     st.Erased,
		Held:       st.LegalHold,
		Usage:      st.Dialect.Summary(st.Header, st.Entries).Usage,
	}}, nil
}

func (s *Server) tree(w http.ResponseWriter, r *http.Request) error {
	p, err := profileOf(r)
	if err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	if err := reserve(r, sess); err != nil {
		return err
	}
	var tree []display.TreeNode
	err = viewAt(r, sess, func(st *core.State) error {
		v, err := viewOf(st, p, st.Leaf(core.MainHead))
		if err != nil {
			return err
		}
		tree = v.Dialect.Tree(v.Entries)
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		return nil
	})
	if err != nil {
		return err
	}
	if notModifiedSinceCursor(w, r) {
		return nil
	}
	if tree == nil {
		tree = []display.TreeNode{}
	}
	return answer(w, http.StatusOK, tree)
}

func (s *Server) context(w http.ResponseWriter, r *http.Request) error {
	p, err := profileOf(r)
	if err != nil {
		return err
	}
	c, ok := s.contextOfWindow(r, p)
	if !ok {
		c, err = s.contextOfSession(r, p)
	}
	if err != nil {
		return err
	}
	w.Header().Set(api.HeaderCursor, c.cursor.String())
	built, own := c.json, image.OwnBlobs(c.entries)
	out := image.EscapeForeign(built, own)
	if c.external {
		out, err = s.cfg.Sessions.Resolve(r.Context(), out, callerOf(r.Context()).readable(own))
	} else {
		out, err = s.cfg.Sessions.Inline(r.Context(), out)
	}
	if err == nil && len(out) > len(built) {
		err = memory.Grow(r.Context(), 2*int64(len(out)-len(built))) // the images as text
	}
	if err != nil {
		return err
	}
	return answerRaw(w, http.StatusOK, out)
}

// A builtContext is a context and the entries that it may be made of.
type builtContext struct {
	json     json.RawMessage
	entries  []core.Entry
	cursor   core.Cursor
	external bool // the agent keeps images apart
}

func (s *Server) contextOfSession(r *http.Request, p dialect.Profile) (c builtContext, err error) {
	sess, err := s.session(r)
	if err != nil {
		return c, err
	}
	if err := reserve(r, sess); err != nil {
		return c, err
	}
	err = viewAt(r, sess, func(st *core.State) error {
		leaf, err := leafOf(st, r)
		if err != nil {
			return err
		}
		v, err := viewOf(st, p, leaf)
		if err != nil {
			return err
		}
		c = builtContext{entries: st.Entries, cursor: st.Cursor(), external: v.Dialect.ImageStore() != ""}
		c.json, err = v.Dialect.Context(v.Entries, v.Leaf)
		return err
	})
	return c, err
}

// contextOfWindow is contextOfSession for a session that is not in memory, without
// loading all of it. It returns false if that is not possible, or would not certainly
// have the same result.
func (s *Server) contextOfWindow(r *http.Request, p dialect.Profile) (c builtContext, ok bool) {
	options, err := readOptionsOf(r)
	if err != nil || options.Strict || p.Dialect != nil || r.URL.Query().Has("at") {
		return c, false
	}
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil || callerOf(r.Context()).mayUse(id) != nil {
		return c, false
	}
	ctx, cancel := openContext(r)
	defer cancel()
	win := s.cfg.Cache.Window(ctx, id)
	if win == nil || options.Seen != (core.Cursor{}) && options.Seen != win.State.Cursor() || memory.Grow(ctx, builtFactor*win.State.Size()) != nil {
		return c, false
	}
	leaf, err := leafOf(win.State, r)
	if err != nil {
		return c, false
	}
	c.entries, c.cursor = win.State.Entries, win.State.Cursor()
	if c.json, ok = win.Context(leaf); !ok {
		return c, false
	}
	// Other entries may own an image that only seems to be one here.
	own := image.OwnBlobs(c.entries)
	c.external = win.State.Dialect.ImageStore() != ""
	if c.external {
		own = func(core.Digest) bool { return false }
	}
	return c, bytes.Equal(image.EscapeForeign(c.json, own), c.json)
}

func (s *Server) entries(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var es []core.Entry
	err = viewAt(r, sess, func(st *core.State) (err error) {
		listed := listOf(st.Entries)
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		if r.URL.Query().Get("path") == "true" {
			leaf, err := leafOf(st, r)
			if err != nil {
				return err
			}
			if listed, err = s.paths.of(st, leaf); err != nil {
				return err
			}
		}
		if name := r.URL.Query().Get("custom"); name != "" {
			listed = listOf(tree.Custom(st.Dialect, listed.slice(0, listed.len()), name))
		}
		es, err = windowOf(w, r, listed)
		return err
	})
	if err != nil {
		return err
	}
	if notModifiedSinceCursor(w, r) {
		return nil
	}
	if r.URL.Query().Get("images") == "false" {
		return s.storedLines(w, r, es)
	}
	return s.lines(w, r, es)
}

// digest answers with the digest of a session's beginning. A client compares it
// with a file to find out whether the log has all of the file.
func (s *Server) digest(w http.ResponseWriter, r *http.Request) error {
	most := -1
	if n := r.URL.Query().Get("entries"); n != "" {
		var err error
		if most, err = strconv.Atoi(n); err != nil || most < 0 {
			return fmt.Errorf("entries %.64q: use a number, 0 or more: %w", n, core.ErrInvalid)
		}
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var out api.Digested
	var h core.Header
	var es []core.Entry
	_ = sess.View(func(st *core.State) error {
		h, es = st.Header, st.Entries
		out = api.Digested{
			Session: st.ID, Cursor: st.Cursor(), Original: st.Origin.Original,
			Deleted: st.Deleted != nil || st.Erased != nil,
		}
		return nil
	})
	w.Header().Set(api.HeaderCursor, out.Cursor.String())
	if notModifiedSinceCursor(w, r) {
		return nil
	}
	if most >= 0 {
		es = es[:min(most, len(es))]
	}
	out.Entries, out.SHA256 = len(es), api.DigestOf(h, es)
	return answer(w, http.StatusOK, out)
}

// state answers with everything that an agent's view of the session needs, as of
// one record.
func (s *Server) state(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var head api.State
	var es []core.Entry
	_ = sess.View(func(st *core.State) error {
		head = api.State{Session: st.ID, Dialect: st.Dialect.Name(), Cursor: st.Cursor(), Heads: map[string]core.Leaf{}, Covered: st.Checkpointed, Claims: map[string]core.Claim{}, Deleted: st.Deleted}
		for name, h := range st.Heads {
			head.Heads[name] = h.Leaf
			if h.Claim != nil {
				head.Claims[name] = *h.Claim
			}
		}
		es = core.Header{Line: image.Escape(st.Header.Line)}.Before(st.Entries)
		return nil
	})
	first, err := marshal(head)
	if err != nil {
		return err
	}
	w.Header().Set(api.HeaderCursor, head.Cursor.String())
	if notModifiedSinceCursor(w, r) {
		return nil
	}
	return s.lines(w, r, append([]core.Entry{{Line: first}}, es...))
}

// builtFactor is how many bytes an answer that is built of a session takes for each of
// it: the answer, and copies of its parts.
const builtFactor = 3

// reserve reserves memory for an answer that is built of a session.
func reserve(r *http.Request, sess *engine.Session) error {
	return memory.Grow(r.Context(), builtFactor*sess.Size())
}

// children answers with the children of the entry ?of=, or with the roots.
func (s *Server) children(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	of := r.URL.Query().Get("of")
	var es []core.Entry
	err = viewAt(r, sess, func(st *core.State) error {
		if _, ok := st.Entry(of); of != "" && !ok {
			return fmt.Errorf("session %s has no entry %.64q: %w", st.ID, of, core.ErrNotFound)
		}
		es = tree.Children(st.Dialect, st.Entries, of)
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		return nil
	})
	if err != nil {
		return err
	}
	if notModifiedSinceCursor(w, r) {
		return nil
	}
	return s.lines(w, r, es)
}

// profileOf returns the profile of ?profile=, or the zero Profile.
func profileOf(r *http.Request) (dialect.Profile, error) {
	return dialect.NamedProfile(r.URL.Query().Get("profile"))
}

// viewOf returns the session of st at leaf as p reads it.
func viewOf(st *core.State, p dialect.Profile, leaf core.Leaf) (dialect.Session, error) {
	return p.View(dialect.Session{ID: st.ID, Dialect: st.Dialect, Header: st.Header, Entries: st.Entries, Leaf: leaf})
}
