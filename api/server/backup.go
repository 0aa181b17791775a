package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/engine"
)

// ends answers with the last record of each session of a shard. A backup reads
// that, then each session's records and snapshot as they are stored, and blobs.
func (s *Server) ends(w http.ResponseWriter, r *http.Request) error {
	shard, err := strconv.Atoi(r.PathValue("shard"))
	if err != nil || shard < 0 || shard >= s.cfg.Log.Shards() {
		return fmt.Errorf("log %s has the shards 0 to %d, not %q: %w", s.cfg.Log.Name(), s.cfg.Log.Shards()-1, r.PathValue("shard"), core.ErrInvalid)
	}
	ends, err := s.cfg.Log.Tails(r.Context(), shard, true)
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

// records sends a session's records from its base on, or after a cursor, in the
// format of package recordio.
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
			return errAborted
		}
		w.Header().Del("Content-Type")
		return err
	}
	if out.Flush() != nil {
		return errAborted
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

// sendRecord sends one record. If its body is a blob, it sends the digest instead
// of the body.
func (s *Server) sendRecord(r *http.Request, out io.Writer, z *storage.Lazy) error {
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

// counted counts the bytes written.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
