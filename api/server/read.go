package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
)

// Bounds of a listing.
const (
	defaultPage = 1000
	maxPage     = 10_000
)

// listWait is how long a listing waits for the directory to have all that was
// stored before it was asked for.
const listWait = 2 * time.Second

// catchUp has the directory take in what was stored before, as far as listWait
// allows, and reports whether it has.
func (s *Server) catchUp(ctx context.Context) bool {
	last, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	err := s.cfg.Materializer.CatchUp(last)
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.Debug("listing from a directory that lags", "err", err)
	}
	return err == nil
}

func limitOf(s string) (int, error) {
	if s == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxPage {
		return 0, fmt.Errorf("limit %.64q: use a number from 1 to %d: %w", s, maxPage, core.ErrInvalid)
	}
	return n, nil
}

func (s *Server) info(w http.ResponseWriter, r *http.Request) error {
	p, err := profileOf(r)
	if err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	info, err := infoOf(sess, p)
	if err != nil {
		return err
	}
	if notModified(w, r, info.Log.Cursor.String()) {
		return nil
	}
	return answer(w, http.StatusOK, info)
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
		info, err = infoBy(st, p)
		return err
	})
	return info, err
}

// infoBy is what the agent of p says of the session, and what the log knows.
func infoBy(st *core.State, p dialect.Profile) (api.Info, error) {
	v, err := seen(st, p, st.Leaf(core.MainHead))
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
	var tree []core.TreeNode
	err = sess.View(func(st *core.State) error {
		v, err := seen(st, p, st.Leaf(core.MainHead))
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
	if asOfCursor(w, r) {
		return nil
	}
	if tree == nil {
		tree = []core.TreeNode{}
	}
	return answer(w, http.StatusOK, tree)
}

func (s *Server) context(w http.ResponseWriter, r *http.Request) error {
	p, err := profileOf(r)
	if err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var built json.RawMessage
	elsewhere := false
	err = sess.View(func(st *core.State) error {
		leaf, err := leafOf(st, r)
		if err != nil {
			return err
		}
		v, err := seen(st, p, leaf)
		if err != nil {
			return err
		}
		elsewhere = v.Dialect.ImageStore() != ""
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		built, err = v.Dialect.Context(v.Entries, v.Leaf)
		return err
	})
	if err != nil {
		return err
	}
	putBack := s.cfg.Sessions.Inline
	if elsewhere {
		putBack = s.cfg.Sessions.Resolve
	}
	out, err := putBack(r.Context(), built)
	if err != nil {
		return err
	}
	return answerRaw(w, http.StatusOK, out)
}

// leafOf is where the request wants to read from: ?leaf=ID, ?leaf=null, or
// where ?head= stands.
func leafOf(st *core.State, r *http.Request) (core.Leaf, error) {
	q := r.URL.Query()
	switch leaf := q.Get("leaf"); leaf {
	case "":
	case "null":
		return core.NoLeaf, nil
	default:
		return core.LeafAt(leaf), nil
	}
	head := q.Get("head")
	if head == "" {
		return st.Leaf(core.MainHead), nil
	}
	if _, ok := st.Heads[head]; !ok {
		return core.Leaf{}, fmt.Errorf("session %s has no head %.64q: %w", st.ID, head, core.ErrNotFound)
	}
	return st.Leaf(head), nil
}

func (s *Server) entries(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var es []core.Entry
	err = sess.View(func(st *core.State) (err error) {
		es = st.Entries
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		if r.URL.Query().Get("path") != "true" {
			return nil
		}
		leaf, err := leafOf(st, r)
		if err != nil {
			return err
		}
		es, err = st.Dialect.Path(st.Entries, leaf)
		return err
	})
	if err != nil {
		return err
	}
	if asOfCursor(w, r) {
		return nil
	}
	return s.lines(w, r, es)
}

func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	if as := r.URL.Query().Get("as"); as != "" {
		return one(s.gates.heavy, func(w http.ResponseWriter, r *http.Request) error { return s.exportAs(w, r, as) })(w, r)
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var d core.Dialect
	var h core.Header
	var es []core.Entry
	var o core.Origin
	_ = sess.View(func(st *core.State) error {
		d, h, es, o = st.Dialect, st.Header, st.Entries, st.Origin
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		return nil
	})
	original := r.URL.Query().Get("original") == "true"
	if (!original || o.Original.IsZero()) && asOfCursor(w, r) {
		return nil
	}
	if !original {
		return s.lines(w, r, d.Layout(h, es))
	}
	if !o.Original.IsZero() {
		return s.writeBlob(w, r, o.Original)
	}
	// The file was its lines and nothing else: the first ones there are.
	return s.lines(w, r, d.Layout(h, es[:min(o.Entries, len(es))]))
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var lines []core.Entry
	err = sess.View(func(st *core.State) error {
		leaf, err := leafOf(st, r)
		if err != nil {
			return err
		}
		es, err := endingAt(st, leaf)
		if err != nil {
			return err
		}
		lines = st.Dialect.Layout(st.Header, es)
		dir, name := st.Dialect.FileName(st.Header)
		w.Header().Set(api.HeaderDialect, st.Dialect.Name())
		w.Header().Set(api.HeaderDir, dir)
		w.Header().Set(api.HeaderFile, name)
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		return nil
	})
	if err != nil {
		return err
	}
	if asOfCursor(w, r) {
		return nil
	}
	return s.lines(w, r, lines)
}

// endingAt returns the session's entries such that an agent that reads them as
// a file goes on at leaf. Where no order of them says it, an agent that has an
// entry for where it stands gets one, which the log does not have.
func endingAt(st *core.State, leaf core.Leaf) ([]core.Entry, error) {
	if es, ok := core.EndAt(st.Dialect, st.Entries, leaf); ok {
		return es, nil
	}
	id, named := leaf.ID()
	if _, ok := st.Entry(id); named && !ok {
		return nil, fmt.Errorf("entry %.64q of session %s: %w", id, st.ID, core.ErrNotFound)
	}
	// Where the agent reads nothing up to leaf, it stands before every entry.
	if e, ok := leafEntry(st); ok {
		return append(slices.Clip(st.Entries), e), nil
	}
	where := "before its first entry"
	if named {
		where = fmt.Sprintf("at entry %.64q", id)
	}
	return nil, fmt.Errorf("session %s stands %s, which a %s file cannot say; move it with: sessctl branch: %w",
		st.ID, where, st.Dialect.Name(), core.ErrInvalid)
}

// leafEntry is the agent's own entry that says that the session stands before
// every other. A file is the same however often it is asked for: so is the id.
func leafEntry(st *core.State) (core.Entry, bool) {
	line, lost := st.Dialect.Write(core.Item{Kind: core.ItemLeaf})
	if line == nil || len(lost) > 0 || st.Dialect.Linear() {
		return core.Entry{}, false
	}
	f := core.Fields{Parent: st.Dialect.Leaf(st.Entries), Time: st.Header.Time}
	for _, e := range slices.Backward(st.Entries) {
		if e.Time != "" {
			f.Time = e.Time
			break
		}
	}
	for n := 0; ; n++ {
		f.ID = derivedID(st, "leaf\x00"+st.Cursor().String(), n)
		if _, taken := st.Entry(f.ID); !taken {
			break
		}
	}
	e, err := st.Dialect.Fill(line, f)
	return e, err == nil
}

// lines writes es as JSONL with their images put back. A failure after the
// first byte breaks the answer off.
func (s *Server) lines(w http.ResponseWriter, r *http.Request, es []core.Entry) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	var buf bytes.Buffer
	begun := false
	for i := range es {
		line, err := s.cfg.Sessions.Inline(r.Context(), es[i].Line)
		if err != nil && r.Context().Err() != nil {
			return errBroken
		}
		if err != nil && begun {
			s.logger(w).Warn("export broke off", "path", r.URL.Path, "entry", es[i].ID, "err", err)
			return errBroken
		}
		if err != nil {
			return fmt.Errorf("entry %.64q: %w", es[i].ID, err)
		}
		buf.Write(line)
		buf.WriteByte('\n')
		if buf.Len() < 1<<20 && i+1 < len(es) {
			continue
		}
		begun = true
		if _, err := buf.WriteTo(w); err != nil {
			return errBroken
		}
	}
	return nil
}

func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	m, err := s.manifest(r.Context(), sess)
	if err != nil {
		return err
	}
	plain, err := s.cfg.Snapshots.Read(r.Context(), m)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set(api.HeaderSnapshot, m.Object)
	w.Header().Set(api.HeaderCursor, core.CursorOf(m.Seq, m.Chain).String())
	_, _ = w.Write(plain) // a caller that has gone is no error of ours
	return nil
}
