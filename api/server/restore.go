package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/materializer"
)

// missingBlobs answers with the blobs that this node lacks or has damaged. It
// renews the others, so that they are not collected before the restore ends.
func (s *Server) missingBlobs(w http.ResponseWriter, r *http.Request) error {
	var in api.BlobWants
	if err := readJSON(r, &in); err != nil {
		return err
	}
	if len(in.Blobs) > api.MaxWants {
		return fmt.Errorf("%d blobs at once, %d are allowed: %w", len(in.Blobs), api.MaxWants, core.ErrInvalid)
	}
	out := api.BlobWants{Blobs: []api.BlobWant{}}
	for _, want := range in.Blobs {
		ok, err := s.renewBlob(r, want)
		if err != nil {
			return err
		}
		if !ok {
			out.Blobs = append(out.Blobs, want)
		}
	}
	return answer(w, http.StatusOK, out)
}

// renewBlob reports whether a blob exists and is intact, and puts it again if so.
func (s *Server) renewBlob(r *http.Request, want api.BlobWant) (bool, error) {
	info, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(want.Digest))
	if errors.Is(err, blobstore.ErrNotFound) || err == nil && info.Size != want.Size {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	lease, err := s.limiters.memory.Acquire(r.Context(), info.Size)
	if err != nil {
		return false, err
	}
	defer lease.Release()
	src, err := s.cfg.Blobs.Open(r.Context(), blobstore.Ref(want.Digest)) // what is stored, not what a cache remembers
	if err != nil {
		return false, nil
	}
	defer src.Close()
	b, err := io.ReadAll(src)
	if err != nil {
		return false, r.Context().Err()
	}
	_, err = s.cfg.Blobs.Put(r.Context(), b)
	return err == nil, err
}

// restoreBlob stores bytes under their digest and replaces damaged ones.
func (s *Server) restoreBlob(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBlob(r)
	if err != nil {
		return err
	}
	defer release()
	if _, err := s.cfg.Blobs.Rewrite(r.Context(), body); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// restoreSnapshot stores a snapshot. The body is its manifest and then its
// object.
func (s *Server) restoreSnapshot(w http.ResponseWriter, r *http.Request) error {
	key, err := s.snapshotKey(r)
	if err != nil {
		return err
	}
	var m core.Manifest
	packed, release, err := s.readHeaded(r, &m)
	if err != nil {
		return err
	}
	defer release()
	if m.Object != key || !materializer.IsSnapshotKey(&m) {
		return fmt.Errorf("manifest of %q in log %q, record %d, is not that of %s: %w", m.Session, m.Log, m.Seq, key, core.ErrInvalid)
	}
	if err := s.cfg.Snapshots.Restore(r.Context(), &m, packed); err != nil {
		if errors.Is(err, core.ErrCorrupt) {
			return fmt.Errorf("%v: %w", err, core.ErrInvalid)
		}
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// planRestore answers with what a restore would find.
func (s *Server) planRestore(w http.ResponseWriter, r *http.Request) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	body, release, err := s.readBody(r)
	if err != nil {
		return err
	}
	defer release()
	var in api.RestorePlan
	if err := json.Unmarshal(body, &in); err != nil {
		return fmt.Errorf("the body is no plan of a restore: %v: %w", err, core.ErrInvalid)
	}
	if err := s.sameLog(in.Log); err != nil {
		return err
	}
	c, err := s.cfg.Sessions.Compare(r.Context(), id, engine.History{Seq: in.Seq, Chain: in.Chain, Steps: in.Steps})
	if err != nil {
		return err
	}
	out := api.Planned{Comparison: c}
	if m := in.Snapshot; m != nil {
		out.WantsSnapshot, err = s.wantsSnapshot(r, id, m)
		if err != nil {
			return err
		}
	}
	return answer(w, http.StatusOK, out)
}

// wantsSnapshot reports whether the snapshot of m is missing or damaged here.
func (s *Server) wantsSnapshot(r *http.Request, id core.SessionID, m *core.Manifest) (bool, error) {
	if m.Session != id || m.Log != s.cfg.Log.Name() || !materializer.IsSnapshotKey(m) {
		return false, fmt.Errorf("the manifest is not of a snapshot of session %s: %w", id, core.ErrInvalid)
	}
	_, err := s.cfg.Snapshots.Read(r.Context(), m)
	if errors.Is(err, core.ErrUnavailable) || r.Context().Err() != nil {
		return false, err
	}
	return err != nil, nil
}

// sameLog rejects records of another log: chains begin with the log's name, so
// they prove nothing here.
func (s *Server) sameLog(log string) error {
	if log == s.cfg.Log.Name() {
		return nil
	}
	return fmt.Errorf("these records are of log %q, this node has log %q: %w\nhint: restore into a node with log.name %q, then copy with sessctl export and import",
		log, s.cfg.Log.Name(), core.ErrInvalid, log)
}

// restore verifies all records of the body and then stores those that the log
// lacks.
func (s *Server) restore(w http.ResponseWriter, r *http.Request) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	var in api.RestoreHead
	rest, release, err := s.readHeaded(r, &in)
	if err != nil {
		return err
	}
	defer release()
	if err := s.sameLog(in.Log); err != nil {
		return err
	}
	records, err := s.readRecords(r, rest)
	if err != nil {
		return err
	}
	st, err := s.cfg.Sessions.Refold(r.Context(), id, in.Seq, in.Chain, records)
	if err != nil {
		return senderFault(err)
	}
	if err := s.hasBlobs(r, st, in.Without); err != nil {
		return err
	}
	c, stored, err := s.cfg.Sessions.Restore(r.Context(), id, in.Seq, in.Chain, records)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.Restored{Comparison: c, Stored: stored})
}

// senderFault marks errors of records that cannot be folded as invalid requests:
// the sender's records are damaged, not the log.
func senderFault(err error) error {
	for _, damage := range []error{core.ErrCorrupt, core.ErrOrphan, core.ErrNotFound} {
		if errors.Is(err, damage) {
			return fmt.Errorf("these records cannot be restored: %v: %w", err, core.ErrInvalid)
		}
	}
	return err
}

// readRecords reads the records of a restore, and the bodies that are blobs.
func (s *Server) readRecords(r *http.Request, b []byte) (records []*core.Record, err error) {
	for rec, err := range recordio.All(b) {
		if err == nil && !rec.Spill.IsZero() {
			err = s.fetchBody(r, rec)
		}
		if err != nil {
			return nil, senderFault(err)
		}
		records = append(records, &rec.Record)
	}
	return records, nil
}

func (s *Server) fetchBody(r *http.Request, rec *recordio.Record) error {
	info, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(rec.Spill))
	if errors.Is(err, blobstore.ErrNotFound) {
		return fmt.Errorf("the body of record %d, %s, is not here; put it first: %w", rec.Seq, rec.Spill, core.ErrNotFound)
	}
	if err != nil {
		return err
	}
	if err := memory.Grow(r.Context(), info.Size); err != nil {
		return err
	}
	rec.Body, err = s.cfg.Blobs.Get(r.Context(), blobstore.Ref(rec.Spill))
	return err
}

// hasBlobs rejects records that refer to blobs which are not here.
func (s *Server) hasBlobs(r *http.Request, st *core.State, without []core.Digest) error {
	if st == nil {
		return nil
	}
	known := map[core.Digest]bool{}
	for _, d := range without {
		known[d] = true
	}
	for _, d := range st.Blobs() {
		_, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(d))
		if errors.Is(err, blobstore.ErrNotFound) && !known[d] {
			return fmt.Errorf("the session names blob %s, which is not here; put it first: %w", d, core.ErrInvalid)
		}
		if err != nil && !errors.Is(err, blobstore.ErrNotFound) {
			return err
		}
	}
	return nil
}

// readHeaded reads a body whose first line is JSON, decodes that line into head,
// and returns the rest. The caller calls release when it no longer uses rest.
func (s *Server) readHeaded(r *http.Request, head any) (rest []byte, release func(), err error) {
	body, release, err := s.readBody(r)
	if err != nil {
		return nil, nil, err
	}
	line, rest, found := bytes.Cut(body, []byte("\n"))
	if !found {
		err = errors.New("it has no end")
	} else {
		err = json.Unmarshal(line, head)
	}
	if err != nil {
		release()
		return nil, nil, fmt.Errorf("the first line is not what %s %s begins with: %v: %w", r.Method, r.URL.Path, err, core.ErrInvalid)
	}
	return rest, release, nil
}

// restorePause is how long after its last call a restore ends.
const restorePause = time.Minute

// restoreRuns are the restores that run at a node. A restore is one call per
// blob, snapshot and session; a record of each would fill the audit log. So a
// restore is one act of its caller: begun with its first call, and done when no
// call has come for restorePause.
type restoreRuns struct {
	server *Server
	pause  time.Duration

	mu      sync.Mutex
	running map[string]*restoreRun // by caller
}

// A restoreRun is one restore.
type restoreRun struct {
	ctx    context.Context // of its first call, without its end: who, and by which request
	act    act
	stored []storedParts
	failed int
	calls  int // that are being answered
	over   *time.Timer
}

// storedParts counts the parts of one kind.
type storedParts struct {
	what string
	n    int
}

// counting answers with h, a call of a restore that stores one part.
func (rs *restoreRuns) counting(what string, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if rs.server.cfg.Audit == nil {
			return h(w, r)
		}
		run := rs.begin(r)
		err := h(w, r)
		rs.ended(run, what, err)
		return err
	}
}

// begin adds a call to its caller's restore. If the record cannot be written, the
// restore continues: it may free the room that the records need.
func (rs *restoreRuns) begin(r *http.Request) *restoreRun {
	who := callerOf(r.Context()).name
	run, first := rs.join(who, r)
	if !first {
		return run
	}
	ctx, cancel := context.WithTimeout(run.ctx, auditTimeout)
	defer cancel()
	if err := rs.server.writeAudit(ctx, run.act, report.AuditBegun, "with "+r.Method+" "+r.URL.Path); err != nil {
		rs.server.cfg.Logger.Error("a restore that has begun is not in the audit records", "token", who, "err", err)
	}
	return run
}

func (rs *restoreRuns) join(who string, r *http.Request) (run *restoreRun, first bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	run = rs.running[who]
	if run == nil {
		run, first = &restoreRun{ctx: context.WithoutCancel(r.Context()), act: act{name: rs.server.routeOf(r).act}}, true
		rs.running[who] = run
		run.over = time.AfterFunc(rs.pause, func() { rs.close(who, run) })
	}
	run.calls++
	run.over.Stop()
	return run, first
}

// ended counts the outcome of a call.
func (rs *restoreRuns) ended(run *restoreRun, what string, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	run.calls--
	run.over.Reset(rs.pause)
	if err != nil {
		run.failed++
		return
	}
	for i := range run.stored {
		if run.stored[i].what == what {
			run.stored[i].n++
			return
		}
	}
	run.stored = append(run.stored, storedParts{what, 1})
}

// close records the end of a restore unless it continued.
func (rs *restoreRuns) close(who string, run *restoreRun) {
	rs.mu.Lock()
	if run.calls > 0 || rs.running[who] != run {
		rs.mu.Unlock()
		return
	}
	delete(rs.running, who)
	what := run.text()
	rs.mu.Unlock()
	rs.server.auditOutcome(run.ctx, run.act, what, nil)
}

// end records the state of all restores when the node stops.
func (rs *restoreRuns) end() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, run := range rs.running {
		run.over.Stop()
		rs.server.auditOutcome(run.ctx, run.act, run.text(), nil)
	}
	clear(rs.running)
}

func (run *restoreRun) text() string {
	var parts []string
	for _, s := range run.stored {
		what := s.what
		if s.n != 1 {
			what += "s"
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
