package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

func (s *Server) lineage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	format := q.Get("format")
	if format != "" && format != "json" && format != "jsonl" {
		return fmt.Errorf("format %.64q: use json or jsonl: %w", format, core.ErrInvalid)
	}
	lease := s.limiters.memory.Lease()
	defer lease.Release()
	s.catchUp(r.Context())
	g, err := s.related(memory.With(r.Context(), lease), q.Get("session"), q.Get("direction"))
	if err != nil {
		return err
	}
	if format == "jsonl" {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write(lineage.ExportJSONL(inLog(g.Nodes()))) // the caller may have left
		return nil
	}
	out := api.Lineage{Sessions: g.Nodes(), Edges: g.Edges()}
	if out.Sessions == nil {
		out.Sessions = []lineage.Node{}
	}
	if out.Edges == nil {
		out.Edges = []lineage.Edge{}
	}
	if err := g.Validate(); err != nil {
		out.Problem = err.Error()
	}
	return answer(w, http.StatusOK, out)
}

// related returns the graph of all sessions or, if id is not empty, of that
// session and its ancestors, its descendants, or both.
func (s *Server) related(ctx context.Context, id, direction string) (*lineage.Graph, error) {
	up, down := direction != "descendants", direction != "ancestors"
	if up && down && direction != "" && direction != "both" {
		return nil, fmt.Errorf("direction %.64q: use ancestors, descendants or both: %w", direction, core.ErrInvalid)
	}
	if id == "" {
		return s.wholeGraph(ctx)
	}
	start, err := core.ParseSessionID(id)
	if err != nil {
		return nil, err
	}
	rows, err := s.cfg.Directory.Kin(ctx, start)
	if err == nil {
		err = memory.Grow(ctx, int64(len(rows))*rowWork)
	}
	if err != nil {
		return nil, err
	}
	g := graphOf(rows)
	if _, ok := g.Node(start); !ok {
		return nil, s.missing(start, core.ErrNotFound)
	}
	g = g.Whole() // no parent is missing from it
	wanted := []core.SessionID{start}
	if up {
		ids, err := g.Ancestors(start)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, ids...)
	}
	if down {
		ids, err := g.Descendants(start)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, ids...)
	}
	return g.Only(wanted), nil
}

// rowsAtOnce is for how many rows memory is reserved at a time.
const rowsAtOnce = 500

// wholeGraph returns the graph of all sessions, oldest first.
func (s *Server) wholeGraph(ctx context.Context) (*lineage.Graph, error) {
	var nodes []lineage.Node
	for row, err := range s.cfg.Directory.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, nodeOf(&row))
		if len(nodes)%rowsAtOnce == 0 {
			if err := memory.Grow(ctx, rowsAtOnce*rowWork); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(nodes, func(a, b lineage.Node) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	return lineage.New(nodes).Whole(), nil
}

// graphOf returns the graph of the sessions of rows, oldest first.
func graphOf(rows []catalog.Row) *lineage.Graph {
	nodes := make([]lineage.Node, len(rows))
	for i := range rows {
		nodes[i] = nodeOf(&rows[i])
	}
	return lineage.New(nodes)
}

func nodeOf(r *catalog.Row) lineage.Node {
	n := lineage.Node{
		ID:      r.ID,
		AgentID: r.AgentID,
		Dialect: r.Dialect,
		Stamp:   r.Lineage,
		Name:    r.Name,
		Created: r.Created,
		Entries: r.Entries - r.Aside,
		Usage:   lineage.UsageOf(r.Usage),
	}
	switch {
	case r.Erased:
		n.State = lineage.Erased
	case r.Deleted:
		n.State = lineage.Deleted
	}
	return n
}

// inLog returns the nodes of sessions that are in the log.
func inLog(nodes []lineage.Node) []lineage.Node {
	var there []lineage.Node
	for _, n := range nodes {
		if n.State != lineage.Missing {
			there = append(there, n)
		}
	}
	return there
}

func (s *Server) merge(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		api.MergeRequest
		ID *string `json:"id"`
	}
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.CWD, q.By, r.Header.Get(api.HeaderIdempotency)); err != nil {
		return err
	}
	m := engine.Merge{HeadA: q.Head, HeadB: q.WithHead, CWD: q.CWD, By: q.By, Key: keyOf(r)}
	id, err := chosenID(q.ID)
	if err != nil {
		return err
	}
	m.ID = cmp.Or(id, core.SessionID(m.Key))
	if err := callerOf(r.Context()).mayCreate(m.ID); err != nil {
		return err
	}
	if q.With == "" {
		return fmt.Errorf(`"with" is missing: the session to merge with: %w`, core.ErrInvalid)
	}
	a, err := s.session(r)
	if err != nil {
		return err
	}
	b, err := s.named(r.Context(), q.With)
	if err != nil {
		return err
	}
	sess, err := s.cfg.Sessions.Merge(r.Context(), a, b, m)
	if err != nil {
		return err
	}
	s.cfg.Cache.Put(sess)
	out := api.Merged{}
	_ = sess.View(func(st *core.State) error {
		out.Created = api.Created{ID: st.ID, Cursor: st.Cursor()}
		if parents := st.Origin.Parents; len(parents) > 0 && parents[0].Entry != "" { // empty if the first session is
			out.Hidden = convert.HidesHistory(convert.After(st.Entries, parents[0].Entry))
		}
		return nil
	})
	w.Header().Set("Location", "/v1/sessions/"+string(out.ID))
	return answer(w, http.StatusCreated, out)
}

// parents returns the lineage that the log records of a new session, and its
// parents. Each parent must exist: the log would keep
// a misspelt name permanently.
func (s *Server) parents(ctx context.Context, refs []api.ParentRef) (ps []core.Lineage, from []optional.Source, err error) {
	if len(refs) > lineage.MaxParents {
		return nil, nil, fmt.Errorf("%d parents, %d are allowed: %w", len(refs), lineage.MaxParents, core.ErrInvalid)
	}
	for _, ref := range refs {
		if ref.Kind == "" {
			ref.Kind = string(lineage.Create)
		}
		if err := checkKind(ref.Kind); err != nil {
			return nil, nil, fmt.Errorf("parent %s: %w", ref.Session, err)
		}
		parent, err := s.named(ctx, ref.Session)
		if err != nil {
			return nil, nil, err
		}
		l := core.Lineage{Session: parent.ID(), Entry: ref.Entry, Kind: ref.Kind}
		err = parent.View(func(st *core.State) error {
			if _, ok := st.Entry(ref.Entry); !ok && ref.Entry != "" {
				return fmt.Errorf("session %s has no entry %.64q: %w", st.ID, ref.Entry, core.ErrNotFound)
			}
			l.Cursor = st.Cursor()
			from = append(from, optional.Source{Header: st.Header, Entries: st.Entries})
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		ps = append(ps, l)
	}
	return ps, from, nil
}

// checkKind returns core.ErrInvalid unless word is a kind of lineage.
func checkKind(word string) error {
	kind, ok := lineage.ParseKind(word)
	if !ok || kind == lineage.Detach || kind == lineage.Unknown || string(kind) != word {
		return fmt.Errorf("kind %.64q: use one of %s: %w", word, lineage.KindsOfParents, core.ErrInvalid)
	}
	return nil
}

func (s *Server) fork(w http.ResponseWriter, r *http.Request) error {
	q, id, err := forkRequest(r)
	if err != nil {
		return err
	}
	if err := checkText(r.Header.Get(api.HeaderIdempotency)); err != nil {
		return err
	}
	if q.Whole && (q.At != "" || q.Branched) {
		return fmt.Errorf("whole excludes at and branched: %w", core.ErrInvalid)
	}
	f := session.Fork{Whole: q.Whole, Branched: q.Branched, CWD: q.CWD, By: q.By, Kind: lineage.Kind(q.Kind), Key: keyOf(r)}
	f.ID = cmp.Or(id, core.SessionID(f.Key))
	switch q.At {
	case "":
	case "null":
		f.At = core.NoLeaf
	default:
		f.At = core.LeafAt(q.At)
	}
	if err := callerOf(r.Context()).mayCreate(f.ID); err != nil {
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

// forkRequest reads the body of a request to fork, and the id that it chooses. An
// empty entry is refused: a variable of the caller that is not set must not fork the
// end.
func forkRequest(r *http.Request) (api.ForkRequest, core.SessionID, error) {
	var q struct {
		api.ForkRequest
		At *string `json:"at"`
		ID *string `json:"id"`
	}
	if err := readJSON(r, &q); err != nil {
		return q.ForkRequest, "", err
	}
	if q.At != nil {
		q.ForkRequest.At = *q.At
		if *q.At == "" {
			return q.ForkRequest, "", fmt.Errorf(`at is empty; send the id of an entry, "null" for before all entries, or no at: %w`, core.ErrInvalid)
		}
	}
	id, err := chosenID(q.ID)
	if err == nil {
		err = checkText(q.ForkRequest.At, q.CWD, q.By)
	}
	return q.ForkRequest, id, err
}
