package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/stream"
)

// readyTimeout is how long a readiness check may take.
const readyTimeout = 3 * time.Second

// store returns why the object store is unreachable, or nil. The node is ready
// without it.
func (s *Server) store(ctx context.Context) error {
	if s.cfg.Store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return s.cfg.Store(ctx)
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) error {
	st := api.Status{
		Node:     s.cfg.Node,
		Version:  s.cfg.Version,
		Log:      s.cfg.Log.Name(),
		Healthy:  true,
		Uptime:   time.Since(s.started).Round(time.Millisecond).Seconds(),
		Sessions: s.cfg.Directory.Len(),
		Blobs:    s.cfg.BlobsAt,
		Shards:   []api.ShardStatus{},
		Bounds:   s.bounds(),
		Losses:   s.cfg.Sessions.Losses(),
	}
	var notes []string // that do not make the node unhealthy
	say := func(healthy bool, why string) {
		to := &notes
		if !healthy {
			st.Healthy, to = false, &st.Reasons
		}
		if why != "" && !slices.Contains(*to, why) {
			*to = append(*to, why)
		}
	}
	if err := s.ready(r.Context()); err != nil {
		say(false, "not ready: "+err.Error())
	}
	if len(s.cfg.Materializer.Guard().Losses()) > 0 {
		say(false, "the log has lost records; see: sessctl doctor")
	}
	if len(s.cfg.Materializer.Guard().Corrupt()) > 0 {
		say(false, "corrupt sessions were found; see: sessctl doctor")
	}
	if err := s.cfg.Directory.Err(); err != nil {
		say(false, err.Error())
	}
	if err := s.store(r.Context()); err != nil {
		say(false, "no object store: "+err.Error())
	}
	st.BlobCache = api.BlobCaches{Memory: api.CacheStats(s.cfg.Blobs.Memory()), Disk: api.CacheStats(s.cfg.Blobs.Disk().Stats())}
	st.BlobPuts = api.BlobPuts(s.cfg.Blobs.Puts())
	st.Cache.Sessions, st.Cache.Bytes, st.Cache.Limit = s.cfg.Cache.Stats()
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout) // for all of them
	defer cancel()
	work := s.cfg.Materializer.Shards()
	for i := range s.cfg.Log.Shards() {
		sh, err := s.cfg.Log.State(ctx, i)
		if err != nil {
			say(false, err.Error())
			continue
		}
		why, refuses := fullness(sh)
		say(!refuses, why) // an empty one never refuses
		say(true, truncationBlocker(work[i]))
		for _, f := range sh.Followers {
			if f.Offline {
				say(true, "the log's copy on "+cmp.Or(f.Name, "another node")+" is not available: one more failure may stop the log; start that node")
			}
		}
		st.Shards = append(st.Shards, api.ShardStatus{
			Limit: sh.Limit, Full: sh.Full,
			Stream: sh.Stream, Leader: sh.Leader, Replicas: sh.Replicas, Messages: sh.Messages,
			Bytes: sh.Bytes, Sessions: sh.Sessions, Lag: sh.Lag(s.cfg.Materializer.Past(i)),
			Work: work[i],
		})
	}
	say(true, lossesText(st.Losses))
	st.Reasons = append(st.Reasons, notes...)
	st.Summary = cmp.Or(strings.Join(st.Reasons, "; "), "all is well")
	return answer(w, http.StatusOK, st)
}

// lossesText describes what was found lost, "" for nothing.
func lossesText(l report.Losses) string {
	switch {
	case l.Rewritten+l.Rescued > 0:
		return "the log had lost records; what this node knew of them was put back. Look after its servers' disks"
	case l.Backfilled > 0:
		return "a server's copy of the log lacks records that others have; see: sessctl verify --all. Look after its disk"
	}
	return ""
}

// fullness describes a shard that is nearly full, and reports whether it refuses
// entries.
func fullness(sh stream.ShardState) (why string, refuses bool) {
	switch {
	case sh.Broken != "":
		return fmt.Sprintf("%s cannot be written: %s", sh.Stream, sh.Broken), true
	case sh.Full >= stream.AppendLimit:
		return fmt.Sprintf("%s is %.0f %% full and refuses new entries; give it more room", sh.Stream, 100*sh.Full), true
	case sh.Full >= stream.WarnLevel:
		return fmt.Sprintf("%s is %.0f %% full, and refuses new entries from %.0f %% on", sh.Stream, 100*sh.Full, 100*stream.AppendLimit), false
	}
	return "", false
}

// bounds returns the node's limits and their use.
func (s *Server) bounds() map[string]api.Bound {
	all := s.limiters.bounds()
	w := s.cfg.Sessions.Waiting()
	all["appends"] = api.Bound{Used: w.Appends, Limit: w.MaxAppends, Refused: w.Refused}
	all["appendBytes"] = api.Bound{Used: w.Bytes, Limit: w.MaxBytes}
	loads, maxLoads := s.cfg.Cache.Loads()
	all["loads"] = api.Bound{Used: int64(loads), Limit: int64(maxLoads)}
	writing, maxWriting := s.cfg.Materializer.Writing()
	all["snapshots"] = api.Bound{Used: int64(writing), Limit: int64(maxWriting)}
	return all
}

// description answers with the OpenAPI document. It contains nothing about this
// node, so it requires no token.
func (s *Server) description(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(api.OpenAPI()) // the caller may have left
	return nil
}

// Health is the JSON answer of GET /readyz.
type Health struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
}

// A Check is one thing that a node needs.
type Check struct {
	Name     string `json:"name"` // "running", "requests", "nats", "log" or "store"
	OK       bool   `json:"ok"`
	Required bool   `json:"required"`      // without it the node is not ready
	Why      string `json:"why,omitempty"` // it is not OK
}

// healthz answers while the process runs.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) error {
	if !wantsJSON(r) {
		_, _ = io.WriteString(w, "ok\n")
		return nil
	}
	return answer(w, http.StatusOK, map[string]any{"alive": true, "uptimeSeconds": time.Since(s.started).Round(time.Millisecond).Seconds()})
}

// readyz answers whether the node can serve. The object store is required only
// with ?need=store: a node does most of its work without it, and all nodes share
// it.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	h := s.health(r.Context(), r.URL.Query().Get("need") == "store")
	status := http.StatusOK
	if !h.Ready {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	if wantsJSON(r) {
		return answer(w, status, h)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, h.text())
	return nil
}

func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

// health checks what the node needs, within readyTimeout.
func (s *Server) health(ctx context.Context, storeRequired bool) Health {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	h := Health{Ready: true}
	h.add("running", true, s.running())
	h.add("requests", true, s.limiters.requests.Full())
	if err := s.broker(ctx); err != nil {
		h.add("nats", true, err) // the log is nowhere else: asking it would only take time
	} else {
		h.add("nats", true, nil)
		_, err := s.cfg.Log.State(ctx, 0)
		h.add("log", true, err)
	}
	if s.cfg.StoreSeen != nil {
		h.add("store", storeRequired, s.cfg.StoreSeen())
	}
	if s.cfg.Presence != nil {
		h.add("presence", false, s.cfg.Presence.Err())
	}
	return h
}

func (h *Health) add(name string, required bool, err error) {
	c := Check{Name: name, OK: err == nil, Required: required}
	if err != nil {
		c.Why = err.Error()
		h.Ready = h.Ready && !required
	}
	h.Checks = append(h.Checks, c)
}

// text is h in one line, for people and probes.
func (h Health) text() string {
	var why, without string
	for _, c := range h.Checks {
		switch {
		case c.OK:
		case c.Required && why == "":
			why = c.Why
		case c.Name == "store":
			without = "its object store: " + c.Why
		case without == "":
			without = c.Name + ": " + c.Why
		}
	}
	switch {
	case !h.Ready:
		return fmt.Sprintf("not ready: %s\n", why)
	case without != "":
		return fmt.Sprintf("ready, but without %s\n", without)
	}
	return "ready\n"
}

// ready returns why the node cannot serve now, or nil.
func (s *Server) ready(ctx context.Context) error {
	for _, c := range s.health(ctx, false).Checks {
		if !c.OK && c.Required {
			return errors.New(c.Why)
		}
	}
	return nil
}

func (s *Server) running() error {
	if s.drain.Err() != nil {
		return errors.New("stopping")
	}
	return nil
}

func (s *Server) broker(ctx context.Context) error {
	if s.cfg.Ready == nil {
		return nil
	}
	return s.cfg.Ready(ctx)
}
