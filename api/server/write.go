package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/session"
)

func (s *Server) create(w http.ResponseWriter, r *http.Request) error {
	if isLines(r) {
		return s.createWhole(w, r)
	}
	var q api.Create
	if err := readJSON(r, &q); err != nil {
		return err
	}
	key := keyOf(r)
	if err := checkText(q.CWD, q.Parent, q.By, r.Header.Get(api.HeaderIdempotency)); err != nil {
		return err
	}
	q.ID = cmp.Or(q.ID, key, string(core.NewSessionID(ulid.Make())))
	id, err := core.ParseSessionID(q.ID)
	if err == nil {
		err = callerOf(r.Context()).makes(id)
	}
	if err != nil {
		return err
	}
	q.Dialect = orPi(q.Dialect)
	d, err := dialect.Named(q.Dialect)
	if err != nil {
		return err
	}
	parents, first, err := s.parents(r.Context(), q.Parents)
	if err != nil {
		return err
	}
	o := core.Origin{Dialect: q.Dialect, Key: key, Time: time.Now().UTC(), By: q.By, Parents: parents}
	switch {
	case q.Parent == "" && len(parents) == 0:
		o.Kind = string(lineage.Create)
	case q.Parent == "":
		q.Parent = first
	}
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: q.ID, Time: o.Time.Format("2006-01-02T15:04:05.000Z"), CWD: q.CWD, Parent: q.Parent}))
	if err != nil {
		return err
	}
	es, err := core.WithSessionMark(d, h, nil, d.EntryID(ulid.Make()), h.Time)
	if err != nil {
		return err
	}
	sess, err := s.cfg.Sessions.Create(r.Context(), engine.Birth{ID: id, Origin: o, Header: h, Entries: es})
	if err != nil {
		return err
	}
	s.cfg.Cache.Put(sess)
	return s.created(w, sess)
}

func (s *Server) created(w http.ResponseWriter, sess *engine.Session) error {
	c := api.Created{ID: sess.ID(), Cursor: cursorOf(sess)}
	w.Header().Set("Location", "/v1/sessions/"+string(c.ID))
	return answer(w, http.StatusCreated, c)
}

func cursorOf(sess *engine.Session) (c core.Cursor) {
	_ = sess.View(func(st *core.State) error {
		c = st.Cursor()
		return nil
	})
	return c
}

func (s *Server) importFile(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := s.readContent(w, r)
	if err != nil {
		return err
	}
	defer release()
	return s.importBytes(w, r, raw)
}

// importBytes imports a file as the request's query asks for.
func (s *Server) importBytes(w http.ResponseWriter, r *http.Request, raw []byte) error {
	q := r.URL.Query()
	if err := checkText(q.Get("by"), q.Get("branch"), r.Header.Get(api.HeaderWriter), r.Header.Get(api.HeaderHead)); err != nil {
		return err
	}
	if err := s.checkLines(raw); err != nil {
		return err
	}
	f, _, err := dialect.Read(q.Get("dialect"), raw)
	if err != nil {
		return err
	}
	if err := callerOf(r.Context()).makes(core.SessionIDFor(f.Dialect, f.Header.ID)); err != nil {
		return err
	}
	who := core.Origin{By: q.Get("by")}
	if who.Parents, err = importedFrom(q); err != nil {
		return err
	}
	on, err := session.ParseOnConflict(q.Get("onConflict"))
	if err != nil {
		return err
	}
	after, err := ifMatch(r)
	if err != nil {
		return err
	}
	res, err := s.cfg.Sessions.Import(r.Context(), f, raw, who, engine.ImportHow{
		Writer: r.Header.Get(api.HeaderWriter), OnConflict: on, Branch: q.Get("branch"), After: after, Head: r.Header.Get(api.HeaderHead),
	})
	if err != nil {
		return err
	}
	s.cfg.Cache.Put(res.Session)
	out := api.Imported{
		ID:      f.Header.ID,
		Session: res.Session.ID(),
		Created: res.Created,
		Head:    res.Head,
		Entries: res.Entries,
		Blobs:   res.Blobs,
		Skipped: f.Skipped,
		Version: f.Version,
		Cursor:  cursorOf(res.Session),
	}
	if out.Skipped == nil {
		out.Skipped = []core.BadLine{}
	}
	_ = res.Session.View(func(st *core.State) error {
		out.Kept = st.Origin.Original
		return nil
	})
	return answer(w, http.StatusOK, out)
}

// checkLines returns core.ErrTooLarge naming the first line that is longer than
// the limit.
func (s *Server) checkLines(b []byte) error {
	for n := 1; len(b) > 0; n++ {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		if len(line) > s.cfg.MaxLine {
			return &core.LineError{Line: n, Err: fmt.Errorf("it has %d bytes, %d are allowed (limits.line): %w", len(line), s.cfg.MaxLine, core.ErrTooLarge)}
		}
		b = rest
	}
	return nil
}

func (s *Server) append(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkLines(body); err != nil {
		return err
	}
	after, err := ifMatch(r)
	if err != nil {
		return err
	}
	lines, numbers := api.EntryLines(body)
	rec, err := s.appendTo(r, lines, after)
	if e, ok := errors.AsType[*core.LineError](err); ok {
		return &core.LineError{Line: numbers[e.Line-1], ID: e.ID, Err: e.Err}
	}
	if err != nil {
		return err
	}
	return s.appended(w, r, rec)
}

// ifMatch is the place in the log since which the head, or all of the session,
// must not have moved, nil where the request names none.
func ifMatch(r *http.Request) (*core.Cursor, error) {
	m := strings.Trim(r.Header.Get("If-Match"), `"`)
	if m == "" {
		return nil, nil
	}
	c, err := core.ParseCursor(m)
	return &c, err
}

// appendTo appends lines to the session and the head that the request names.
func (s *Server) appendTo(r *http.Request, lines [][]byte, after *core.Cursor) (engine.Receipt, error) {
	key := r.Header.Get(api.HeaderIdempotency)
	if err := checkText(key, r.Header.Get(api.HeaderWriter), r.URL.Query().Get("branch")); err != nil {
		return engine.Receipt{}, err
	}
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return engine.Receipt{}, err
	}
	// What is in memory will do: the append itself finds out where the log is.
	ctx, cancel := context.WithTimeout(r.Context(), openWait)
	defer cancel()
	sess, err := s.cfg.Cache.Get(ctx, id)
	if err != nil {
		return engine.Receipt{}, s.missing(id, err)
	}
	how, err := session.ParseOnConflict(r.URL.Query().Get("onConflict"))
	if err != nil {
		return engine.Receipt{}, err
	}
	a := engine.Append{
		Head:   r.Header.Get(api.HeaderHead),
		Writer: r.Header.Get(api.HeaderWriter),
		After:  after,
		Lines:  lines,

		OnConflict: how,
		Branch:     r.URL.Query().Get("branch"),
	}
	if key != "" {
		_ = sess.View(func(st *core.State) error {
			a.ID = func(i int) string { return derivedID(st, key, i) }
			return nil
		})
	}
	return sess.Append(r.Context(), a)
}

// derivedID is the id of the line at i that a caller sent without one: of the
// agent's own shape, and the same for the same Idempotency-Key, on any node.
func derivedID(st *core.State, key string, i int) string {
	sum := sha256.Sum256([]byte(string(st.ID) + "\x00" + key + "\x00" + strconv.Itoa(i)))
	return st.Dialect.EntryID([16]byte(sum[:16]))
}

func (s *Server) appended(w http.ResponseWriter, r *http.Request, rec engine.Receipt) error {
	w.Header().Set("ETag", `"`+rec.Cursor.String()+`"`)
	out := api.Appended{IDs: rec.IDs, Cursor: rec.Cursor, Stored: rec.Stored, Blobs: rec.Blobs}
	if asked := cmp.Or(r.Header.Get(api.HeaderHead), core.MainHead); rec.Head != asked {
		out.Head = rec.Head
	}
	return answer(w, http.StatusOK, out)
}

func (s *Server) label(w http.ResponseWriter, r *http.Request) error {
	var q api.LabelRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.Target, q.Label); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var line []byte
	err = sess.View(func(st *core.State) error {
		if _, ok := st.Entry(q.Target); !ok {
			return fmt.Errorf("session %s has no entry %.64q: %w", st.ID, q.Target, core.ErrNotFound)
		}
		if line = st.Dialect.NewLabel(q.Target, q.Label); line == nil {
			return fmt.Errorf("sessions of %s have no labels: %w", st.Dialect.Name(), core.ErrInvalid)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.appendLine(w, r, line)
}

func (s *Server) name(w http.ResponseWriter, r *http.Request) error {
	var q api.NameRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.Name); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var line []byte
	err = sess.View(func(st *core.State) error {
		if line = st.Dialect.NewName(q.Name); line == nil {
			return fmt.Errorf("sessions of %s have no name: %w", st.Dialect.Name(), core.ErrInvalid)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.appendLine(w, r, line)
}

func (s *Server) appendLine(w http.ResponseWriter, r *http.Request, line []byte) error {
	rec, err := s.appendTo(r, [][]byte{line}, nil)
	if err != nil {
		return err
	}
	return s.appended(w, r, rec)
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
	// What was stored is in memory. To ask the log once more could fail, and the
	// caller would take a move that was made for one that was not.
	return answerInfo(w, sess, dialect.Profile{})
}

func (s *Server) claim(w http.ResponseWriter, r *http.Request) error {
	var q api.ClaimRequest
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
	mine, former, err := sess.Claim(r.Context(), engine.ClaimRequest(q))
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

func (s *Server) fork(w http.ResponseWriter, r *http.Request) error {
	var q api.ForkRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.At, q.CWD, q.By); err != nil {
		return err
	}
	if err := checkText(r.Header.Get(api.HeaderIdempotency)); err != nil {
		return err
	}
	if q.Whole && (q.At != "" || q.Branched) {
		return fmt.Errorf("whole excludes at and branched: %w", core.ErrInvalid)
	}
	f := engine.Fork{Whole: q.Whole, Branched: q.Branched, CWD: q.CWD, By: q.By, Kind: lineage.Kind(q.Kind), Key: keyOf(r)}
	f.ID = core.SessionID(f.Key)
	switch q.At {
	case "":
	case "null":
		f.At = core.NoLeaf
	default:
		f.At = core.LeafAt(q.At)
	}
	if q.ID != "" {
		id, err := core.ParseSessionID(q.ID)
		if err != nil {
			return err
		}
		f.ID = id
	}
	if err := callerOf(r.Context()).makes(f.ID); err != nil {
		return err
	}
	src, err := s.session(r)
	if err != nil {
		return err
	}
	sess, err := s.cfg.Sessions.Fork(r.Context(), src, f)
	if err != nil {
		return err
	}
	s.cfg.Cache.Put(sess)
	return s.created(w, sess)
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request) error {
	return s.notice(w, r, s.noting("delete", (*engine.Session).Delete))
}

func (s *Server) undelete(w http.ResponseWriter, r *http.Request) error {
	return s.notice(w, r, s.noting("undelete", (*engine.Session).Undelete))
}

func (s *Server) finish(w http.ResponseWriter, r *http.Request) error {
	return s.notice(w, r, (*engine.Session).Finish)
}

func (s *Server) notice(w http.ResponseWriter, r *http.Request, do sessionAct) error {
	return s.noticeFor(w, r, do, func(q api.Notice) error { return checkText(q.By, q.Host, q.Why) })
}

// noticeFor is notice with a check of its own.
func (s *Server) noticeFor(w http.ResponseWriter, r *http.Request, do sessionAct, check func(api.Notice) error) error {
	var q api.Notice
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := check(q); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	if err := do(sess, r.Context(), coreNotice(q)); err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.Created{ID: sess.ID(), Cursor: cursorOf(sess)})
}

func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var behind bool
	_ = sess.View(func(st *core.State) error {
		behind = st.Checkpointed == 0 || st.Tail > 0
		return nil
	})
	if behind {
		if _, err := s.cfg.Materializer.Checkpoint(r.Context(), sess); err != nil {
			return err
		}
	}
	m, err := s.manifest(r.Context(), sess)
	if err != nil {
		return err
	}
	// A snapshot that is there already may be damaged: then it is written anew.
	_, err = s.cfg.Snapshots.Read(r.Context(), m)
	if errors.Is(err, core.ErrCorrupt) || errors.Is(err, core.ErrNotFound) {
		m, err = s.cfg.Materializer.Checkpoint(r.Context(), sess)
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, snapshotOf(m))
}

// manifest returns the session's latest checkpoint.
func (s *Server) manifest(ctx context.Context, sess *engine.Session) (*core.Manifest, error) {
	var base core.Pos
	var covered uint64
	_ = sess.View(func(st *core.State) error {
		base, covered = st.Base, st.Checkpointed
		return nil
	})
	if covered == 0 {
		return nil, fmt.Errorf("session %s has no snapshot yet (make one with: sessctl checkpoint %s): %w", sess.ID(), sess.ID(), core.ErrNotFound)
	}
	r, err := s.cfg.Log.At(ctx, sess.ID(), base)
	if err != nil {
		return nil, err
	}
	return core.ReadManifest(r)
}

func snapshotOf(m *core.Manifest) api.Snapshot {
	return api.Snapshot{Object: m.Object, Seq: m.Seq, Chain: m.Chain, Size: m.Size, SHA256: m.SHA256, Entries: m.Entries}
}
