package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/stream"
)

const (
	// maxFeedSessions is how many sessions a caller may name.
	maxFeedSessions = 100
	// maxFeedKnown is how many sessions a feed remembers.
	maxFeedKnown = 10_000
	// filterTTL is how long the result of the filter for a session is used.
	filterTTL = time.Second
	// positionEvery is after how many skipped records the feed sends its position,
	// so that a follower that reconnects does not read them again.
	positionEvery = 1000
)

// A feed is one follower of several sessions. It buffers nothing: it reads the
// next record after the follower accepted the last event.
type feed struct {
	s         *Server
	out       *eventWriter
	positions positions
	skipped   int    // records since the last position was sent
	caller    caller // only its sessions are sent

	only   map[core.SessionID]bool // the sessions that were named; nil for none
	filter *catalog.Filter         // nil for all sessions
	known  map[core.SessionID]*feedSession
}

// A feedSession is what a feed remembers about a session.
type feedSession struct {
	pos     core.Pos // of the last record that was sent, 0 for none
	cursor  core.Cursor
	matches bool // the filter
	checked time.Time
}

// feed sends the records of several sessions as server-sent events: those that
// are named, those that match a filter, or all.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) error {
	f, err := s.newFeed(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.drain, cancel)()
	if f.positions, err = s.parsePositions(ctx, lastEventID(r), f.shards()); err != nil {
		if s.drain.Err() != nil {
			return fmt.Errorf("this node is stopping: %w", core.ErrUnavailable)
		}
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	f.out = &eventWriter{w: w, rc: http.NewResponseController(w)}
	if f.sendPosition() != nil {
		return errAborted
	}
	defer f.out.keepAlive(ctx, cancel)()
	err = f.run(ctx)
	switch {
	case ctx.Err() != nil:
		return nil // the follower continues from its last id
	case errors.Is(err, errAborted):
		return err
	}
	return f.out.problem(err)
}

func lastEventID(r *http.Request) string {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		return last
	}
	return r.URL.Query().Get("after")
}

func (s *Server) newFeed(r *http.Request) (*feed, error) {
	q := r.URL.Query()
	f := &feed{s: s, known: map[core.SessionID]*feedSession{}}
	filter, err := s.filterOf(r.Context(), q)
	if err != nil {
		return nil, err
	}
	f.caller = callerOf(r.Context())
	asked := filter
	asked.Within = ""
	if !reflect.ValueOf(asked).IsZero() {
		f.filter = &filter
	}
	names := q["session"]
	if len(names) == 0 {
		return f, nil
	}
	if f.filter != nil {
		return nil, fmt.Errorf("name sessions, or say which you want, not both: %w", core.ErrInvalid)
	}
	if len(names) > maxFeedSessions {
		return nil, fmt.Errorf("%d sessions, %d may be followed at once; follow all, or those of a filter: %w", len(names), maxFeedSessions, core.ErrInvalid)
	}
	f.only = map[core.SessionID]bool{}
	for _, name := range names {
		id, err := core.ParseSessionID(name)
		if err != nil {
			return nil, err
		}
		if err := f.caller.mayUse(id); err != nil {
			return nil, err
		}
		f.only[id] = true
	}
	return f, nil
}

// shards returns which shards have sessions of the feed.
func (f *feed) shards() []bool {
	in := make([]bool, f.s.cfg.Log.Shards())
	for i := range in {
		in[i] = f.only == nil
	}
	for id := range f.only {
		in[f.s.cfg.Log.Shard(id)] = true
	}
	return in
}

// run sends records in the order in which the shards deliver them. The error is
// never nil.
func (f *feed) run(ctx context.Context) error {
	type stored struct {
		shard int
		ch    stream.Change
	}
	g, ctx := errgroup.WithContext(ctx)
	coming := make(chan stored)
	for shard, p := range f.positions {
		if p == nil {
			continue
		}
		g.Go(func() error {
			for ch, err := range f.s.cfg.Log.Watch(ctx, shard, p.pos) {
				if err != nil {
					return err
				}
				select {
				case coming <- stored{shard, ch}:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return ctx.Err()
		})
	}
	started := f.positions
	f.positions = append([]*position(nil), started...) // the goroutines above read started
	g.Go(func() error {
		for {
			select {
			case s := <-coming:
				f.positions[s.shard] = &position{s.ch.Pos, s.ch.Chain}
				if err := f.handle(ctx, s.ch); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	return g.Wait()
}

// handle sends a record if it belongs to a session of the feed.
func (f *feed) handle(ctx context.Context, ch stream.Change) error {
	wants, err := f.wants(ctx, ch)
	if err != nil {
		return err
	}
	if wants {
		f.skipped = 0
		return f.send(ctx, ch)
	}
	if known := f.known[ch.Session]; known != nil { // skipped records are not sent later
		known.pos, known.cursor = 0, core.Cursor{}
	}
	if f.skipped++; f.skipped < positionEvery {
		return nil
	}
	f.skipped = 0
	if f.sendPosition() != nil {
		return errAborted
	}
	return nil
}

func (f *feed) sendPosition() error { return f.out.write("id: " + f.positions.String() + "\n\n") }

func (f *feed) session(id core.SessionID) *feedSession {
	known := f.known[id]
	if known == nil {
		if len(f.known) >= maxFeedKnown {
			clear(f.known)
		}
		known = &feedSession{}
		f.known[id] = known
	}
	return known
}

// wants reports whether the feed has the session of a record.
func (f *feed) wants(ctx context.Context, ch stream.Change) (bool, error) {
	if ch.Session == "" || !f.caller.Reaches(string(ch.Session)) {
		return false, nil
	}
	if f.only != nil {
		return f.only[ch.Session], nil
	}
	if f.filter == nil {
		return true, nil
	}
	if !strings.HasPrefix(string(ch.Session), f.filter.Prefix) {
		return false, nil
	}
	known := f.session(ch.Session)
	if time.Since(known.checked) < filterTTL {
		return known.matches, nil
	}
	f.s.catchUp(ctx) // so that the row has this record
	one := *f.filter
	one.Prefix, one.Limit = string(ch.Session), 100
	page, err := f.s.cfg.Directory.List(ctx, one)
	if err != nil {
		return false, err
	}
	known.matches, known.checked = false, time.Now()
	for i := range page.Rows {
		known.matches = known.matches || page.Rows[i].ID == ch.Session
	}
	return known.matches, nil
}

// send sends the session's records after the last one sent, up to ch.
func (f *feed) send(ctx context.Context, ch stream.Change) error {
	known := f.session(ch.Session)
	for known.pos < ch.Pos {
		err := f.sendUpTo(ctx, known, ch)
		if err == nil && known.pos < ch.Pos { // the replica lags, or the record was removed
			_, err = f.s.cfg.Log.ChainAt(ctx, f.s.cfg.Log.Shard(ch.Session), ch.Pos)
			if err == nil {
				err = retry.Wait(ctx, 10*time.Millisecond)
			}
		}
		if errors.Is(err, core.ErrLost) || errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrCorrupt) {
			delete(f.known, ch.Session)
			return f.sendLoss(ch.Session, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *feed) sendUpTo(ctx context.Context, known *feedSession, ch stream.Change) error {
	from := known.pos
	if from == 0 {
		from = ch.Pos - 1
	}
	log := f.s.cfg.Log
	for rec, err := range engine.ChainedLazily(ctx, log, ch.Session, known.pos, known.cursor, log.Scan(ctx, ch.Session, from, ch.Pos)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := f.s.sendEvent(ctx, f.out, rec, eventLabel{ch.Session, f.positions.String()}); err != nil {
			return err
		}
		known.pos, known.cursor = rec.Pos, core.CursorOf(rec.Seq, rec.Chain)
	}
	return nil
}

// sendLoss reports that not all records of a session could be sent.
func (f *feed) sendLoss(id core.SessionID, err error) error {
	data, err := marshal(api.FeedLoss{Session: id, Problem: detailOf(err)})
	if err != nil {
		return err
	}
	if f.out.write(fmt.Sprintf("id: %s\nevent: lost\ndata: %s\n\n", f.positions, data)) != nil {
		return errAborted
	}
	return nil
}

// positions say how far a follower of several sessions is, by shard; nil for a
// shard that has none of them. As text they mean the same on every node.
type positions []*position

// A position is a message of a shard and the chain of the record in it, zero if
// it is not a record.
type position struct {
	pos   core.Pos
	chain core.Chain
}

func (p *position) String() string {
	if p == nil {
		return "-"
	}
	at := strconv.FormatUint(uint64(p.pos), 36)
	if p.chain == (core.Chain{}) {
		return at
	}
	return at + "." + p.chain.String()[:positionChainLen]
}

// positionChainLen is how many characters of a chain a position's text has.
const positionChainLen = 12

func (ps positions) String() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.String()
	}
	return strings.Join(texts, "~")
}

// parsePositions returns the positions of text, checked, or the current ends of
// the shards. in says which shards count.
func (s *Server) parsePositions(ctx context.Context, text string, in []bool) (positions, error) {
	ps := make(positions, len(in))
	var texts []string
	if text != "" {
		if texts = strings.Split(text, "~"); len(texts) != len(in) {
			return nil, fmt.Errorf("%.80q is no place in a log of %d shards: %w", text, len(in), core.ErrInvalid)
		}
	}
	for shard := range ps {
		var err error
		switch {
		case !in[shard]:
		case texts == nil || texts[shard] == "-":
			ps[shard], err = s.endPosition(ctx, shard)
		default:
			ps[shard], err = s.parsePosition(ctx, shard, texts[shard])
		}
		if err != nil {
			return nil, err
		}
	}
	return ps, nil
}

// endPosition returns the current end of a shard.
func (s *Server) endPosition(ctx context.Context, shard int) (*position, error) {
	st, err := s.cfg.Log.State(ctx, shard)
	if err != nil {
		return nil, err
	}
	p := &position{pos: st.Last}
	p.chain, err = s.chainAt(ctx, shard, st.Last)
	return p, err
}

// parsePosition reads a position and checks that the shard still has all records
// after it. It returns core.ErrLost if it does not, or has other records there.
func (s *Server) parsePosition(ctx context.Context, shard int, text string) (*position, error) {
	at, chain, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(at, 36, 64)
	if err != nil || chain != "" && len(chain) != positionChainLen {
		return nil, fmt.Errorf("%.80q is no place in a shard: %w", text, core.ErrInvalid)
	}
	p := &position{pos: core.Pos(n)}
	wait, cancel := context.WithTimeout(ctx, cursorTimeout)
	defer cancel()
	for {
		st, err := s.cfg.Log.State(wait, shard)
		if err != nil {
			return nil, err
		}
		if p.pos <= st.Last {
			switch {
			case p.pos+1 < st.First:
				return nil, fmt.Errorf("records of shard %d after %d have been truncated: %w", shard, p.pos, core.ErrLost)
			case p.pos < st.First: // it was truncated, and nothing after it
				return p, nil
			}
			break
		}
		if retry.Wait(wait, 100*time.Millisecond) != nil { // the leader may be behind
			return nil, fmt.Errorf("shard %d ends at %d, before %d: %w", shard, st.Last, p.pos, core.ErrLost)
		}
	}
	if p.chain, err = s.chainAt(wait, shard, p.pos); err != nil {
		return nil, err
	}
	if have := p.String(); have != text {
		return nil, fmt.Errorf("shard %d has another record at %d: %w", shard, p.pos, core.ErrLost)
	}
	return p, nil
}

// chainAt returns the chain of the record at a position, zero if there is none.
func (s *Server) chainAt(ctx context.Context, shard int, pos core.Pos) (core.Chain, error) {
	if pos == 0 {
		return core.Chain{}, nil
	}
	chain, err := s.cfg.Log.ChainAt(ctx, shard, pos)
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return chain, err
}
