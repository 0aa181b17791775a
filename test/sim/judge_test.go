package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
)

// A truth is the real state of a session: the records that the broker has stored and not
// lost, including purged ones. It is read with separate code, except for the fold.
type truth struct {
	id     core.SessionID
	all    []*core.Record // by Pos
	st     *core.State
	chains map[uint64]core.Chain // by seq
	over   map[string]bool       // claims that are over, by writer
	// granted are claims whose writers received the answer.
	granted map[string]bool
	acked   []string            // acknowledged lines, in the order of their answers
	order   map[string][]string // acknowledged lines by writer's name and head, in order
	fate    map[string]error    // the answer for each line sent, nil for stored
	drafts  map[core.Chain]core.Digest
}

func newTruth(id core.SessionID) *truth {
	t := &truth{id: id, order: map[string][]string{}, fate: map[string]error{}, granted: map[string]bool{}, drafts: map[core.Chain]core.Digest{}}
	t.begin()
	return t
}

func (t *truth) begin() {
	t.st = core.NewState("main", t.id, dialect.All())
	t.chains, t.over = map[uint64]core.Chain{}, map[string]bool{}
}

var inflate, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))

// read parses a record from a message.
func read(m *message) (*core.Record, error) {
	h, err := nats.DecodeHeadersMsg(m.header)
	if err != nil {
		return nil, err
	}
	n := func(key string) uint64 {
		v, nerr := strconv.ParseUint(cmpOr(h.Get(key), "0"), 10, 64)
		err = errors.Join(err, nerr)
		return v
	}
	r := &core.Record{
		Kind: core.Kind(h.Get("Sess-Kind")), Seq: n("Sess-Seq"), Base: core.Pos(n("Sess-Base")), Head: h.Get("Sess-Head"),
		Writer: h.Get("Sess-Writer"), Epoch: n("Sess-Epoch"), Count: int(n("Sess-Count")), Body: m.data,
		Pos: core.Pos(m.seq), After: core.Pos(n("Nats-Expected-Last-Subject-Sequence")),
	}
	if err != nil {
		return nil, err
	}
	if h.Get("Sess-Encoding") == "zstd" {
		if r.Body, err = inflate.DecodeAll(m.data, nil); err != nil {
			return nil, err
		}
	}
	r.Chain, err = core.ParseChain(h.Get("Sess-Chain"))
	return r, err
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (w *world) truthOf(subject string) *truth {
	return w.truths[core.SessionID(subject[bytes.LastIndexByte([]byte(subject), '.')+1:])]
}

// stored checks every message when the broker stores it.
func (w *world) stored(s *jstream, m *message) {
	t := w.truthOf(m.subject)
	r, err := read(m)
	if t == nil || err != nil {
		w.fail("a message of %s that is no record: %v", m.subject, err)
		return
	}
	w.count("stored: " + string(r.Kind))
	w.note("  stored in %s: %s record %d of %s at %d, head %s, writer %s", s.name, r.Kind, r.Seq, t.id, r.Pos, r.Head, r.Writer)
	t.all = append(t.all, r)
	t.take(w, r, true)
}

// take folds r, and checks it if asked to.
func (t *truth) take(w *world, r *core.Record, judge bool) {
	if !t.st.Follows(r) {
		if judge {
			w.count("orphans")
			if len(w.lossAt) == 0 {
				w.fail("the chain of %s is broken at %d: record %d behind %d", t.id, r.Pos, r.Seq, t.st.Seq)
			}
		}
		return
	}
	holder := ""
	if h := t.st.Heads[r.Head]; h != nil && h.Claim != nil {
		holder = h.Claim.Writer
	}
	if judge {
		t.judge(w, r, holder)
	}
	switch r.Kind {
	case core.KindClaim:
		// A writer that never received its claim, and lost it, may ask again.
		if judge && t.over[r.Writer] {
			w.count("claims made again by who had not heard of the first")
			if t.granted[r.Writer] {
				w.fail("P2: record %d of %s: %s, whose claim was over, has it again", r.Seq, t.id, r.Writer)
			}
		}
		delete(t.over, r.Writer)
		if holder != r.Writer {
			t.over[holder] = true
		}
	case core.KindRelease:
		if holder == r.Writer {
			t.over[r.Writer] = true
		}
	}
	delete(t.over, "")
	if err := t.st.Apply(r); err != nil {
		w.fail("record %d of %s does not fold: %v", r.Seq, t.id, err)
		return
	}
	t.chains[r.Seq] = r.Chain
}

func (t *truth) judge(w *world, r *core.Record, holder string) {
	if r.Kind != core.KindAppend && r.Kind != core.KindHead {
		return
	}
	if holder != "" && holder != r.Writer {
		w.fail("P2: record %d of %s: %s wrote to head %s, which %s holds", r.Seq, t.id, r.Writer, r.Head, holder)
	}
	if t.over[r.Writer] {
		w.fail("P2: record %d of %s: %s wrote to head %s after its claim was over", r.Seq, t.id, r.Writer, r.Head)
	}
	if r.Kind != core.KindAppend {
		return
	}
	es, err := core.BodyEntries(t.st.Dialect, r.Body)
	if err != nil {
		w.fail("record %d of %s: %v", r.Seq, t.id, err)
		return
	}
	here := map[string]bool{}
	for _, e := range es {
		if _, ok := t.st.Entry(e.ID); ok || here[e.ID] {
			w.fail("P4: record %d of %s: line %s is stored twice", r.Seq, t.id, e.ID)
		}
		_, ok := t.st.Entry(e.Parent)
		switch {
		case e.Parent == "" || ok || here[e.Parent]:
		case len(w.lossAt) > 0 && strings.HasPrefix(r.Head, "stray-"):
			w.count("lines kept whose parents the broker forgot")
		default:
			w.fail("P3: record %d of %s: the parent of %s, %s, is nowhere before it", r.Seq, t.id, e.ID, e.Parent)
		}
		here[e.ID] = true
	}
}

// recordsOf returns the records of the sessions in s, including purged ones.
func (w *world) recordsOf(s *jstream) map[core.SessionID][]*core.Record {
	had := map[core.SessionID][]*core.Record{}
	for _, id := range w.ids() {
		if w.lives(s, id) {
			had[id] = slices.Clone(w.truths[id].all)
		}
	}
	return had
}

// lost reduces the truths of s to the records that the broker still has.
func (w *world) lost(s *jstream, had map[core.SessionID][]*core.Record) {
	for _, id := range w.ids() {
		all, ok := had[id]
		if !ok {
			continue
		}
		t := w.truths[id]
		t.all = slices.DeleteFunc(slices.Clone(all), func(r *core.Record) bool { return uint64(r.Pos) > s.last })
		t.begin()
		for _, r := range t.all {
			t.take(w, r, false)
		}
	}
}

func (w *world) ids() []core.SessionID {
	var ids []core.SessionID
	for i := range sessions {
		ids = append(ids, core.SessionID(fmt.Sprintf("session-%d", i)))
	}
	return ids
}

// lives reports whether s is the stream of the session's records.
func (w *world) lives(s *jstream, id core.SessionID) bool {
	return s.name == fmt.Sprintf("SESS_main_%02d", shardOf(id))
}

// purged records a purge. A purge is durable before it is answered.
func (w *world) purged(s *jstream, upTo uint64) {
	w.count("purges")
	w.note("  %s is purged up to %d", s.name, upTo)
	if d := w.disks[s.name]; d != nil {
		d.synced = s.last
	}
}

func (w *world) hasPurged() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts["purges"] > 0
}

// heard handles an answer that a client received.
func (w *world) heard(a *actor, err error) {
	switch {
	case err == nil:
		w.count("answers: good")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		w.count("answers: none in time")
	default:
		for _, c := range []struct {
			name string
			err  error
		}{
			{"fenced", core.ErrFenced},
			{"conflict", core.ErrConflict},
			{"uncertain", core.ErrUncertain},
			{"lost", core.ErrLost},
			{"full", core.ErrFull},
			{"corrupt", core.ErrCorrupt},
			{"deleted", core.ErrDeleted},
			{"not found", core.ErrNotFound},
			{"unavailable", core.ErrUnavailable},
			{"invalid", core.ErrInvalid},
		} {
			if errors.Is(err, c.err) {
				w.count("answers: " + c.name)
				break
			}
		}
	}
	if err != nil {
		w.note("%s was told: %v", a.name, err)
	}
	if errors.Is(err, core.ErrLost) && len(w.lossAt) == 0 {
		w.fail("P5: %s is told of a loss, and nothing was lost: %v", a.name, err)
	}
	if errors.Is(err, core.ErrCorrupt) && len(w.lossAt) == 0 && w.weather.objectLies == 0 {
		w.fail("P5: %s is told of damage, and nothing is damaged: %v", a.name, err)
	}
}

// told handles the final result of an append.
func (w *world) told(id core.SessionID, writer, head string, lines []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.truths[id]
	for _, l := range lines {
		t.fate[l] = err
	}
	if err != nil {
		return
	}
	w.counts["lines acknowledged"] += len(lines)
	t.acked = append(t.acked, lines...)
	t.order[writer+" on "+head] = append(t.order[writer+" on "+head], lines...)
}

// grant records that a writer received its claim.
func (w *world) grant(id core.SessionID, writer string) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	w.truths[id].granted[writer] = true
}

// must returns the lines that are acknowledged by now.
func (w *world) must(id core.SessionID) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.truths[id].acked)
}

// sees checks what a reader read.
func (w *world) sees(who string, s *engine.Session, must []string) {
	w.count("reads judged")
	_ = s.View(func(st *core.State) error {
		w.met(who, s.ID(), st.Seq, st.Chain)
		if w.weather.oldLeader > 0 || len(w.lossAt) > 0 {
			return nil
		}
		for _, l := range must {
			if _, ok := st.Entry(l); !ok {
				w.fail("P1: %s does not see line %s of %s, at record %d", who, l, s.ID(), st.Seq)
				break
			}
		}
		return nil
	})
}

// met checks a record that a client has read.
func (w *world) met(who string, id core.SessionID, seq uint64, chain core.Chain) {
	w.b.mu.Lock()
	want, ok := w.truths[id].chains[seq]
	w.b.mu.Unlock()
	if len(w.lossAt) == 0 && (!ok || want != chain) {
		w.fail("P1: %s has read a record %d of %s that is not there", who, seq, id)
	}
}

// snapshot checks a snapshot: there is one per record.
func (w *world) snapshot(id core.SessionID, d *engine.Draft) {
	w.mu.Lock()
	was, ok := w.truths[id].drafts[d.Manifest.Chain]
	w.truths[id].drafts[d.Manifest.Chain] = d.Manifest.SHA256
	w.counts["snapshots"]++
	w.mu.Unlock()
	if ok && was != d.Manifest.SHA256 {
		w.fail("P8: record %d of %s has two snapshots", d.Manifest.Seq, id)
	}
}

// finish ends all faults and checks the final state.
func (w *world) finish() {
	w.weather = weather{}
	clear(w.frozen)
	if len(w.wrong) == 0 {
		w.await("the last operation", func() bool { return len(w.idle()) == len(w.actors) && len(w.things) == 0 })
	}
	if len(w.wrong) == 0 {
		w.verdict()
	}
	w.end()
}

// verdictText describes what is wrong, and the steps before it.
func (w *world) verdictText() string {
	if len(w.wrong) == 0 {
		return ""
	}
	return fmt.Sprintf("seed %d, step %d: %s\n%s", w.seed, w.step, w.wrong[0], strings.Join(w.trace[max(0, len(w.trace)-keepLast):], "\n"))
}

// end stops everything.
func (w *world) end() {
	w.mu.Lock()
	w.over = true
	calls := w.calls
	w.mu.Unlock()
	for _, n := range slices.Concat(w.dead, w.nodes) {
		n.end()
	}
	w.b.mu.Lock()
	w.b.gated = false
	for _, c := range w.b.conns {
		c.closeLocked()
	}
	w.b.mu.Unlock()
	for _, c := range calls {
		c.do(true, false)
		close(c.done)
	}
	w.procs.Wait()
	time.Sleep(time.Minute) // lets operations of canceled callers finish
}

// verdict checks the log against the promises, after all running nodes had time to repair
// what they know.
func (w *world) verdict() {
	known := map[core.SessionID]map[string]bool{}
	for _, id := range w.ids() {
		known[id] = map[string]bool{}
	}
	judge := w.newNode("judge")
	w.run("the judge's start", func() {
		for {
			judge.mu.Lock()
			ready := judge.ready
			judge.mu.Unlock()
			if ready {
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	// A session in the trash rejects appends, so its repairs wait.
	for _, id := range w.ids() {
		w.run("the emptying of the trash", func() { w.untrash(judge, id) })
	}
	for range 3 { // the others must still see what one repaired
		for _, n := range w.nodes {
			for _, id := range w.ids() {
				if s := n.open[id]; s != nil {
					_ = s.View(func(st *core.State) error {
						for i := range st.Entries {
							known[id][st.Entries[i].ID] = true
						}
						return nil
					})
					w.run("the last look of "+n.name, func() { w.refresh(n, s) })
				}
			}
		}
		for _, id := range w.ids() {
			w.run("the recovery of orphans", func() {
				if s, err := judge.ss.Open(context.Background(), id); err == nil && s.Orphans() > 0 {
					w.note("the judge recovers the orphans of %s: %v", id, w.recoverOrphans(judge, s))
				}
			})
		}
	}
	for _, id := range w.ids() {
		w.run("the judge's reading", func() {
			s, err := judge.ss.Open(context.Background(), id)
			if errors.Is(err, core.ErrNotFound) && w.truths[id].st.Seq == 0 {
				w.count("sessions that the broker forgot")
				return
			}
			if err != nil {
				w.fail("P1: session %s cannot be opened in the end: %v", id, err)
				return
			}
			_ = s.View(func(st *core.State) error { w.last(id, st, known[id]); return nil })
		})
	}
	for _, n := range w.nodes {
		for _, id := range w.ids() {
			if s := n.open[id]; s != nil {
				_ = s.View(func(st *core.State) error {
					if t := w.truths[id]; st.Chain != t.st.Chain && t.st.Seq > 0 {
						w.fail("P1: %s has record %d of %s in memory in the end, the log has %d", n.name, st.Seq, id, t.st.Seq)
					}
					return nil
				})
			}
		}
	}
	judge.end()
}

// recoverOrphans does what a materializer that finds orphans does. The checkpoint also
// tells their writer, which may know of no record after its own.
func (w *world) recoverOrphans(n *node, s *engine.Session) error {
	if err := s.RecoverOrphans(context.Background()); err != nil {
		return err
	}
	return w.checkpoint(context.Background(), n, s, form{}, false)
}

// untrash restores a session from the trash, if it is there.
func (w *world) untrash(judge *node, id core.SessionID) {
	s, err := judge.ss.Open(context.Background(), id)
	if err != nil {
		return // checked below
	}
	if s.View(func(st *core.State) error { return st.CheckWritable() }) == nil {
		return
	}
	if err := s.Undelete(context.Background(), core.Notice{By: "judge"}); err != nil {
		w.fail("P1: session %s stays in the trash: %v", id, err)
	}
	w.count("sessions taken out of the trash in the end")
}

func (w *world) refresh(n *node, s *engine.Session) {
	var err error
	for range 5 {
		ctx, cancel := n.within(clientTimeout)
		err = s.Refresh(ctx)
		cancel()
		if err == nil {
			return
		}
		if errors.Is(err, core.ErrLost) && w.truths[s.ID()].st.Seq == 0 {
			w.count("sessions that the broker forgot, named as lost")
			return
		}
		w.note("%s: %v", n.name, err)
	}
	w.fail("P1: %s cannot read session %s in the end: %v", n.name, s.ID(), err)
}

// last checks what a new reader sees without faults.
func (w *world) last(id core.SessionID, st *core.State, known map[string]bool) {
	t := w.truths[id]
	if st.Seq != t.st.Seq || st.Chain != t.st.Chain {
		w.fail("P1: a reader of %s ends at record %d, the log at %d", id, st.Seq, t.st.Seq)
		return
	}
	if !bytes.Equal(st.Render(), t.st.Render()) {
		w.fail("P1: a reader of %s sees other lines than the log's records give", id)
	}
	w.count("sessions judged")
	for _, l := range t.acked {
		_, there := st.Entry(l)
		switch {
		case there:
		case len(w.lossAt) == 0:
			w.fail("P1: line %s of %s was acknowledged and is not there", l, id)
		case known[l]:
			w.fail("P5: line %s of %s was acknowledged, the broker forgot it, a node knew it, and it was not put back", l, id)
		default:
			w.count("lines that the broker forgot, and all who knew them had died")
		}
	}
	if len(w.lossAt) > 0 {
		return
	}
	place := map[string]int{}
	for i := range st.Entries {
		place[st.Entries[i].ID] = i
	}
	for l, err := range t.fate {
		if _, there := place[l]; there && err != nil && !uncertain(err) {
			w.fail("P4: line %s of %s is there, its writer was told %v", l, id, err)
		}
	}
	for who, lines := range t.order {
		if !slices.IsSortedFunc(lines, func(a, b string) int { return place[a] - place[b] }) {
			w.fail("P4: the lines of %s are in another order in %s", who, id)
		}
	}
}
