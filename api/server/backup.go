package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// What a backup reads: the ends of all sessions, and of each its records and its
// snapshot as they are stored. Blobs are read as by anybody else.

// ends answers with where the sessions of a shard end.
func (s *Server) ends(w http.ResponseWriter, r *http.Request) error {
	shard, err := strconv.Atoi(r.PathValue("shard"))
	if err != nil || shard < 0 || shard >= s.cfg.Log.Shards() {
		return fmt.Errorf("log %s has the shards 0 to %d, not %q: %w", s.cfg.Log.Name(), s.cfg.Log.Shards()-1, r.PathValue("shard"), core.ErrInvalid)
	}
	ends, err := s.cfg.Log.Tails(r.Context(), shard)
	if err != nil {
		return err
	}
	out := api.ShardEnds{
		Log: s.cfg.Log.Name(), Shards: s.cfg.Log.Shards(), Shard: shard, At: ends.At, Strict: ends.Strict,
		Sessions: make([]api.SessionEnd, len(ends.Sessions)),
	}
	for i, e := range ends.Sessions {
		out.Sessions[i] = api.SessionEnd{Session: e.Session, Kind: e.Kind, Seq: e.Seq, Chain: e.Chain}
	}
	return answer(w, http.StatusOK, out)
}

// records sends a session's records from its base on, or behind a cursor, as
// package recordio writes them.
func (s *Server) records(w http.ResponseWriter, r *http.Request) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	q := r.URL.Query()
	after, err := core.ParseCursor(q.Get("after"))
	if err != nil {
		return err
	}
	t, err := s.cfg.Sessions.Tail(r.Context(), id, engine.TailFrom{After: after, Start: q.Get("from") == "start"})
	if err != nil {
		return s.missing(id, err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	sent := &counted{w: w}
	out := bufio.NewWriterSize(sent, 64<<10)
	if err := s.sendRecords(r, out, id, t); err != nil {
		if sent.n > 0 {
			s.logger(w).Warn("records broke off", "session", id, "err", err)
			return errBroken
		}
		w.Header().Del("Content-Type")
		return err
	}
	if out.Flush() != nil {
		return errBroken
	}
	return nil
}

func (s *Server) sendRecords(r *http.Request, out io.Writer, id core.SessionID, t *engine.Tail) error {
	head, err := json.Marshal(api.RecordsHead{Log: s.cfg.Log.Name(), Session: id, AfterSeq: t.Seq, After: t.Chain, Covered: t.Covered, Seq: t.Last.Seq, Chain: t.Last.Chain})
	if err != nil {
		return err
	}
	if _, err := out.Write(append(head, '\n')); err != nil {
		return err
	}
	for z, err := range t.Records {
		if err != nil {
			return err
		}
		if err := s.sendRecord(r, out, z); err != nil {
			return err
		}
	}
	return nil
}

// sendRecord sends one record. A body that is a blob is named, not sent.
func (s *Server) sendRecord(r *http.Request, out io.Writer, z *core.Lazy) error {
	rec := recordio.Record{Record: z.Record, Spill: z.Packed.Spill()}
	if rec.Spill.IsZero() {
		body, release, err := s.bodies.take(r.Context(), z)
		if err != nil {
			return err
		}
		defer release()
		rec.Body = body
	}
	return recordio.Write(out, &rec)
}

// counted counts what was written.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// object sends a snapshot as it is stored.
func (s *Server) object(w http.ResponseWriter, r *http.Request) error {
	key, err := s.snapshotKey(r)
	if err != nil {
		return err
	}
	object, size, err := s.cfg.Snapshots.Object(r.Context(), key)
	if errors.Is(err, core.ErrNotFound) {
		return s.objectOfParts(w, r, key, err)
	}
	if err != nil {
		return err
	}
	defer object.Close()
	w.Header().Set("Content-Type", "application/zstd")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if _, err := io.Copy(w, object); err != nil {
		s.cfg.Logger.Warn("snapshot broke off", "object", key, "err", err)
		return errBroken
	}
	return nil
}

// objectOfParts sends the session's latest snapshot as the one object that it
// would be. absent is the answer where key is not that one's.
func (s *Server) objectOfParts(w http.ResponseWriter, r *http.Request, key string, absent error) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	m, err := s.cfg.Sessions.Manifest(r.Context(), id)
	if err != nil {
		return err
	}
	if m == nil || m.Object != key || len(m.Parts) == 0 {
		return absent
	}
	release, err := s.gates.large.take(r.Context(), 2*m.Size)
	if err != nil {
		return err
	}
	defer release()
	packed, err := s.cfg.Snapshots.Packed(r.Context(), m)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/zstd")
	w.Header().Set("Content-Length", strconv.Itoa(len(packed)))
	if _, err := w.Write(packed); err != nil {
		return errBroken
	}
	return nil
}

// snapshotKey is the key of the object that a path names.
func (s *Server) snapshotKey(r *http.Request) (string, error) {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return "", err
	}
	key := "snapshots/" + s.cfg.Log.Name() + "/" + string(id) + "/" + r.PathValue("name")
	if err := blobstore.CheckKey(key); err != nil {
		return "", fmt.Errorf("%v: %w", err, core.ErrInvalid)
	}
	return key, nil
}

// What a restore writes: blobs, the snapshot, and then the records that name them.

// wantBlobs answers with those of the blobs that this node has not, or not sound.
// Those that it has are as good as put now: what is old is made young again.
func (s *Server) wantBlobs(w http.ResponseWriter, r *http.Request) error {
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

// renewBlob reports whether a blob is there and sound, and puts it again then.
func (s *Server) renewBlob(r *http.Request, want api.BlobWant) (bool, error) {
	info, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(want.Digest))
	if errors.Is(err, blobstore.ErrNotFound) || err == nil && info.Size != want.Size {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	release, err := s.gates.large.take(r.Context(), info.Size)
	if err != nil {
		return false, err
	}
	defer release()
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

// restoreBlob stores bytes under their digest, also where others are there.
func (s *Server) restoreBlob(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBlob(w, r)
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

// restoreSnapshot stores a snapshot's object, which follows its manifest.
func (s *Server) restoreSnapshot(w http.ResponseWriter, r *http.Request) error {
	key, err := s.snapshotKey(r)
	if err != nil {
		return err
	}
	var m core.Manifest
	packed, release, err := s.readHeaded(w, r, &m)
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
	body, release, err := s.readBody(w, r)
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
	c, err := s.cfg.Sessions.Compare(r.Context(), id, engine.Past{Seq: in.Seq, Chain: in.Chain, Steps: in.Steps})
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

// wantsSnapshot reports whether the snapshot that m names is not here, or not
// sound.
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

// sameLog refuses the records of another log: their chains begin with its name,
// so here they would prove nothing.
func (s *Server) sameLog(log string) error {
	if log == s.cfg.Log.Name() {
		return nil
	}
	return fmt.Errorf("these records are of log %q, and their chains are bound to that name; this node has log %q. Restore them into a node whose log.name is %q, "+
		"and from there bring sessions over with sessctl export and sessctl import: %w", log, s.cfg.Log.Name(), log, core.ErrInvalid)
}

// restore stores what the log lacks of a session, once all of it is proved.
func (s *Server) restore(w http.ResponseWriter, r *http.Request) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	var in api.RestoreHead
	rest, release, err := s.readHeaded(w, r, &in)
	if err != nil {
		return err
	}
	defer release()
	if err := s.sameLog(in.Log); err != nil {
		return err
	}
	records, release, err := s.readRecords(r, rest)
	if err != nil {
		return err
	}
	defer release()
	st, err := s.cfg.Sessions.Refold(r.Context(), id, in.Seq, in.Chain, records)
	if err != nil {
		return refused(err)
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

// refused says of records that cannot be folded that their sender is at fault:
// nothing in the log is damaged.
func refused(err error) error {
	for _, damage := range []error{core.ErrCorrupt, core.ErrOrphan, core.ErrNotFound} {
		if errors.Is(err, damage) {
			return fmt.Errorf("these records cannot be restored: %v: %w", err, core.ErrInvalid)
		}
	}
	return err
}

// readRecords reads the records of a restore, and the bodies that are blobs.
func (s *Server) readRecords(r *http.Request, b []byte) (records []*core.Record, release func(), err error) {
	var held []func()
	release = func() {
		for _, f := range held {
			f()
		}
	}
	for rec, err := range recordio.All(b) {
		if err == nil && !rec.Spill.IsZero() {
			var free func()
			if free, err = s.fetchBody(r, rec); free != nil {
				held = append(held, free)
			}
		}
		if err != nil {
			release()
			return nil, nil, refused(err)
		}
		records = append(records, &rec.Record)
	}
	return records, release, nil
}

func (s *Server) fetchBody(r *http.Request, rec *recordio.Record) (release func(), err error) {
	info, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(rec.Spill))
	if errors.Is(err, blobstore.ErrNotFound) {
		return nil, fmt.Errorf("the body of record %d, %s, is not here; put it first: %w", rec.Seq, rec.Spill, core.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if release, err = s.gates.large.take(r.Context(), info.Size); err != nil {
		return nil, err
	}
	rec.Body, err = s.cfg.Blobs.Get(r.Context(), blobstore.Ref(rec.Spill))
	return release, err
}

// hasBlobs refuses records that name blobs which are not here.
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

// readHeaded reads a body whose first line is JSON, which goes into head, and
// returns what is behind that line. The caller calls release when it is done with
// it.
func (s *Server) readHeaded(w http.ResponseWriter, r *http.Request, head any) (rest []byte, release func(), err error) {
	body, release, err := s.readBody(w, r)
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
