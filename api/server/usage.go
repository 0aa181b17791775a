package server

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/usage"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/session/catalog"
)

// maxUsageHeads limits the heads whose paths one answer adds up.
const maxUsageHeads = 100

func (s *Server) sessionUsage(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	onePath := q.Get("leaf") != "" || q.Get("head") != ""
	var out api.SessionUsage
	var parents []core.SessionID
	err = viewAt(r, sess, func(st *core.State) error {
		if !onePath {
			parents = parentsOf(st)
			return nil
		}
		leaf, err := leafOf(st, r)
		if err != nil {
			return err
		}
		path, err := st.Dialect.Path(st.Entries, leaf)
		if err != nil {
			return err
		}
		out = usageOf(st)
		s.fold(r, st, func(f *usage.Fold) { out.Part = f.Path(path) })
		return nil
	})
	if err == nil && !onePath {
		inherited := s.entriesOf(r.Context(), parents)
		err = viewAt(r, sess, func(st *core.State) error {
			heads, more := headPaths(st)
			out = usageOf(st)
			s.fold(r, st, func(f *usage.Fold) { out.Report = f.Report(heads, inherited) })
			out.More = more
			return nil
		})
	}
	if err != nil {
		return err
	}
	if !onePath && q.Get("at") == "" {
		if out.Subagents, err = s.subagents(r.Context(), out.Session); err != nil {
			return err
		}
	}
	s.cfg.Prices.Estimate(&out.Report)
	return answer(w, http.StatusOK, out)
}

// fold calls f with the usage of st. That of a past state is not kept.
func (s *Server) fold(r *http.Request, st *core.State, f func(*usage.Fold)) {
	if r.URL.Query().Get("at") == "" {
		s.folds.use(st, s.limiters.memory, f)
		return
	}
	fold := usage.NewFold(st.Dialect, st.Header)
	fold.Add(st.Entries...)
	f(fold)
}

func usageOf(st *core.State) api.SessionUsage {
	return api.SessionUsage{Session: st.ID, Cursor: st.Cursor()}
}

// parentsOf returns the sessions from which st may have entries.
func parentsOf(st *core.State) (ids []core.SessionID) {
	for _, p := range lineage.Of(st).Parents {
		if p.Session != st.ID && p.Kind != lineage.Subagent {
			ids = append(ids, p.Session)
		}
	}
	return ids
}

// entriesOf returns whether an entry is in one of the sessions. Sessions that the
// log does not have, or that the caller may not read, have none.
func (s *Server) entriesOf(ctx context.Context, ids []core.SessionID) func(string) bool {
	has := map[string]bool{}
	for _, id := range ids {
		if callerOf(ctx).mayUse(id) != nil {
			continue
		}
		sess, err := s.cfg.Cache.Get(ctx, id)
		if err != nil {
			continue
		}
		_ = sess.View(func(st *core.State) error {
			for i := range st.Entries {
				has[st.Entries[i].ID] = true
			}
			return nil
		})
	}
	return func(entry string) bool { return has[entry] }
}

// headPaths returns the paths to the first heads of st, and how many others it
// has.
func headPaths(st *core.State) (heads []usage.Head, more int) {
	names := st.HeadNames()
	most := min(len(names), maxUsageHeads)
	for _, name := range names[:most] {
		if path, err := st.Dialect.Path(st.Entries, st.Leaf(name)); err == nil {
			heads = append(heads, usage.Head{Name: name, Path: path})
		}
	}
	return heads, len(names) - most
}

// subagents returns the sessions of sub-agents below id that the caller may read.
func (s *Server) subagents(ctx context.Context, id core.SessionID) ([]api.SubagentUsage, error) {
	s.catchUp(ctx)
	rows, err := s.cfg.Directory.Kin(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []api.SubagentUsage
	below := map[core.SessionID]bool{id: true}
	for again := true; again; {
		again = false
		for i := range rows {
			r := &rows[i]
			if below[r.ID] || !startedBy(r, below) || callerOf(ctx).mayUse(r.ID) != nil {
				continue
			}
			below[r.ID], again = true, true
			out = append(out, api.SubagentUsage{Session: r.ID, Name: r.Name, Usage: r.Usage})
		}
	}
	return out, nil
}

func startedBy(r *catalog.Row, by map[core.SessionID]bool) bool {
	return slices.ContainsFunc(r.Lineage.Parents, func(p lineage.Parent) bool { return p.Kind == lineage.Subagent && by[p.Session] })
}

const (
	// maxFolds limits the sessions whose usage is kept.
	maxFolds = 64
	// foldsShare is the part of the node's memory that they may take.
	foldsShare = 16
)

// folds keep the usage of sessions that were asked for, so that the next request
// reads only what is new.
type folds struct {
	mu   sync.Mutex
	byID map[core.SessionID]*foldOf
	size int64
}

type foldOf struct {
	mu     sync.Mutex
	growth *core.Growth // of the entries read
	fold   *usage.Fold
	read   int
	size   int64         // as it counts in folds.size
	lease  *memory.Lease // of that size
}

// use calls f with the usage of st. What is kept counts against b.
func (fs *folds) use(st *core.State, b *memory.Budget, f func(*usage.Fold)) {
	fs.mu.Lock()
	of := fs.byID[st.ID]
	if of == nil {
		of = &foldOf{lease: b.Lease()}
		fs.byID[st.ID] = of
	}
	fs.mu.Unlock()
	defer fs.keep(st.ID, of, b)
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.growth != st.Growth() || of.read > len(st.Entries) {
		of.growth, of.fold, of.read = st.Growth(), usage.NewFold(st.Dialect, st.Header), 0
	}
	of.fold.Add(st.Entries[of.read:]...)
	of.read = len(st.Entries)
	f(of.fold)
}

// keep counts a fold that was used, and drops all if they have become too many or too
// large.
func (fs *folds) keep(id core.SessionID, of *foldOf, b *memory.Budget) {
	of.mu.Lock()
	size := of.fold.Size()
	of.mu.Unlock()
	_, limit, _ := b.Stats()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.byID[id] != of { // it was dropped meanwhile
		return
	}
	fs.size += size - of.size
	of.size = size
	of.lease.Resize(size)
	if len(fs.byID) <= maxFolds && fs.size <= limit/foldsShare {
		return
	}
	for _, of := range fs.byID {
		of.lease.Release()
	}
	clear(fs.byID)
	fs.size = 0
}
