package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/stream"
)

// A restore is many calls, one for each blob, snapshot and session. With a record
// of each the audit records would have no room for anything else, so they have the
// restore as one act of its caller: begun with its first call, and done, with what
// it came to, when none has come for a while.

// restorePause is how long after its last call a restore is over.
const restorePause = time.Minute

// restores are the restores that are going on at a node.
type restores struct {
	server *Server
	pause  time.Duration

	mu      sync.Mutex
	running map[string]*restoring // by caller
}

// A restoring is one restore.
type restoring struct {
	ctx    context.Context // of its first call, without its end: who, and by which request
	act    act
	stored []storedParts
	failed int
	calls  int // that are being answered
	over   *time.Timer
}

type storedParts struct {
	one, many string
	n         int
}

// part answers with h, a call of a restore that stores one of something.
func (rs *restores) part(one, many string, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if rs.server.cfg.Audit == nil {
			return h(w, r)
		}
		run := rs.begin(r)
		err := h(w, r)
		rs.ended(run, one, many, err)
		return err
	}
}

// begin counts a call among those of its caller's restore. A restore goes on
// whether it can be recorded or not: it may be what makes room for records again.
func (rs *restores) begin(r *http.Request) *restoring {
	who := callerOf(r.Context()).name
	run, first := rs.join(who, r)
	if !first {
		return run
	}
	ctx, cancel := context.WithTimeout(run.ctx, auditWait)
	defer cancel()
	if err := rs.server.record(ctx, run.act, stream.AuditBegun, "with "+r.Method+" "+r.URL.Path); err != nil {
		rs.server.cfg.Logger.Error("a restore that has begun is not in the audit records", "token", who, "err", err)
	}
	return run
}

func (rs *restores) join(who string, r *http.Request) (run *restoring, first bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	run = rs.running[who]
	if run == nil {
		run, first = &restoring{ctx: context.WithoutCancel(r.Context()), act: act{name: rights[r.Pattern].act}}, true
		rs.running[who] = run
		run.over = time.AfterFunc(rs.pause, func() { rs.close(who, run) })
	}
	run.calls++
	run.over.Stop()
	return run, first
}

// ended counts what a call came to.
func (rs *restores) ended(run *restoring, one, many string, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	run.calls--
	run.over.Reset(rs.pause)
	if err != nil {
		run.failed++
		return
	}
	for i := range run.stored {
		if run.stored[i].one == one {
			run.stored[i].n++
			return
		}
	}
	run.stored = append(run.stored, storedParts{one, many, 1})
}

// close records that a restore is over, unless it has gone on.
func (rs *restores) close(who string, run *restoring) {
	rs.mu.Lock()
	if run.calls > 0 || rs.running[who] != run {
		rs.mu.Unlock()
		return
	}
	delete(rs.running, who)
	what := run.text()
	rs.mu.Unlock()
	rs.server.noteEnd(run.ctx, run.act, what, nil)
}

// end records of all restores what they came to so far: the node stops.
func (rs *restores) end() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, run := range rs.running {
		run.over.Stop()
		rs.server.noteEnd(run.ctx, run.act, run.text(), nil)
	}
	clear(rs.running)
}

func (run *restoring) text() string {
	var parts []string
	for _, s := range run.stored {
		what := s.many
		if s.n == 1 {
			what = s.one
		}
		parts = append(parts, fmt.Sprint(s.n, " ", what))
	}
	if len(parts) == 0 {
		parts = []string{"nothing stored"}
	}
	if run.failed > 0 {
		parts = append(parts, fmt.Sprintf("calls that failed: %d", run.failed))
	}
	return strings.Join(parts, ", ")
}
