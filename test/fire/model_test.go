package fire_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// A state is a session as its clients see it. It follows docs/API.md and shares no code
// with the program.
type state struct {
	lines  string // "ID<PARENT " for each entry in order; no parent for a root
	count  int
	leaf   [2]string // leaf of each head; "" is before all entries
	made   bool      // the second head exists; until then it has the first's leaf
	holder [2]string // the writer that holds it
	epoch  uint64
	place  uint64 // of the last write, see op.Place
}

func (s state) leafOf(head int) string {
	if head == 1 && !s.made {
		return s.leaf[0]
	}
	return s.leaf[head]
}

// may reports whether a writer may write to a head: the head has no holder and the writer
// uses no claim, or the writer's claim is the holder.
func (s state) may(head int, writer string) bool { return s.holder[head] == writer }

func (s state) has(id string) bool {
	return strings.HasPrefix(s.lines, id+"<") || strings.Contains(s.lines, " "+id+"<")
}

func (s state) moved(head int, leaf string) state {
	s.leaf[head] = leaf
	s.made = s.made || head == 1
	return s
}

func (s state) appended(head int, ids []string) state {
	leaf := s.leafOf(head)
	for _, id := range ids {
		s.lines += id + "<" + leaf + " "
		leaf = id
	}
	s.count += len(ids)
	return s.moved(head, leaf)
}

func (s state) claimed(head int, writer string) state {
	s = s.moved(head, s.leafOf(head)) // a claim creates its head
	s.holder[head] = writer
	s.epoch++
	return s
}

func (s state) view() view {
	return view{
		Lines: s.lines, Count: s.count, Leaf: [2]string{s.leaf[0], s.leafOf(1)}, Made: s.made, Holder: s.holder, Epoch: s.epoch,
	}
}

// step reports whether o may have happened in state s with its result, and returns the
// next state. Stored ops happen in the log's order, which saves the checker from trying
// other orders that the last reads would refute.
func step(s state, o op) (bool, state) {
	if o.Place > 0 && o.Place <= s.place {
		return false, s
	}
	s.place = max(s.place, o.Place)
	switch o.Kind {
	case opAppend:
		return stepAppend(s, o)
	case opClaim:
		return stepClaim(s, o)
	case opRelease:
		if s.holder[o.Head] == o.Writer {
			s.holder[o.Head] = ""
		}
		return true, s
	case opMove:
		return stepMove(s, o)
	case opInfo:
		want := s.view()
		want.Lines = ""
		return o.Saw == want, s
	case opEntries:
		return o.Saw.Lines == s.lines, s
	}
	return false, s
}

func stepAppend(s state, o op) (bool, state) {
	may := s.may(o.Head, o.Writer)
	elsewhere := o.After && s.leafOf(o.Head) != o.Leaf
	switch o.Result {
	case fenced:
		return !may, s
	case conflict:
		return may && elsewhere, s
	}
	return may && !elsewhere, s.appended(o.Head, o.IDs)
}

func stepClaim(s state, o op) (bool, state) {
	held := s.holder[o.Head] != ""
	if o.Result == fenced && !o.Stored {
		return held && !o.TakeOver, s
	}
	former := s.holder[o.Head]
	next := s.claimed(o.Head, o.Writer)
	if o.Result == done && (o.Former != former || o.Epoch != next.epoch) {
		return false, s
	}
	return !held || o.TakeOver, next
}

func stepMove(s state, o op) (bool, state) {
	may := s.may(o.Head, o.Writer)
	there := o.Leaf == "" || s.has(o.Leaf)
	switch o.Result {
	case fenced:
		return !may, s
	case absent:
		return may && !there, s
	case unknown: // at the end it changes nothing
		if may && there {
			return true, s.moved(o.Head, o.Leaf)
		}
		return true, s
	}
	return may && there, s.moved(o.Head, o.Leaf)
}

var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, in, _ any) (bool, any) {
		ok, next := step(s.(state), in.(op))
		return ok, next
	},
	DescribeOperation: func(in, _ any) string { return in.(op).String() },
	DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
}

// linear checks whether the ops of one session are a linearizable history: Ok, Illegal, or
// Unknown after a timeout.
//
// An op without an answer took effect at any time since if the session's records contain
// it, and otherwise never. wasOnce checks the answers of servers without a quorum; there
// is no exception for acknowledged writes.
func linear(ops []op, patience time.Duration) porcupine.CheckResult {
	var hist []porcupine.Operation
	for _, o := range ops {
		if !o.says() || o.mayBeOld() {
			continue
		}
		p := porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(o.Return)}
		switch {
		case o.Result == unknown && !o.Stored:
			continue
		case o.Result == unknown:
			p.Return = math.MaxInt64
		case o.Stale && o.Kind == opMove && o.Result == done && o.Place == 0:
			p.Call = 0 // a server without a quorum may have had it already
		}
		hist = append(hist, p)
	}
	return porcupine.CheckOperationsTimeout(model, hist, patience)
}

// wasOnce returns the ops that a server without a quorum may have answered, and whose
// answers were never true.
func wasOnce(ops []op, states []state) (wrong []op) {
	for _, o := range ops {
		if !o.says() || !o.mayBeOld() {
			continue
		}
		if !slices.ContainsFunc(states, func(s state) bool { return o.trueOf(s) }) {
			wrong = append(wrong, o)
		}
	}
	return wrong
}

// trueOf reports whether s may have given o's answer, and is also the state after it.
func (o op) trueOf(s state) bool {
	ok, next := step(s, o)
	return ok && next == s
}

// says reports whether the answer to o depends on the session's state. For answers that no
// state explains, see unexcused.
func (o op) says() bool {
	switch o.Result {
	case refused, broken:
		return false
	case absent:
		return o.Kind == opMove && !o.Stale
	}
	return !o.isRead() || o.Result == done
}

func (o op) isRead() bool { return o.Kind == opInfo || o.Kind == opEntries }

// mayBeOld reports whether a server without a quorum may have answered o: o stored nothing.
func (o op) mayBeOld() bool {
	switch {
	case !o.Stale, o.Stored:
		return false
	case o.isRead():
		return true
	case o.Kind == opRelease: // its claim had already ended
		return o.Result == done
	}
	return o.Result == fenced || o.Result == conflict
}

func (o op) String() string {
	s := fmt.Sprintf("%9.3fs–%9.3fs client %d, node %d: %s", o.Call.Seconds(), o.Return.Seconds(), o.Client, o.Node, o.Kind)
	if !o.isRead() {
		s += " " + heads[o.Head]
	}
	if o.Writer != "" {
		s += " as " + o.Writer
	}
	if o.TakeOver {
		s += " taking over"
	}
	if len(o.IDs) > 0 {
		s += fmt.Sprint(" ", o.IDs)
	}
	if o.After {
		s += " expecting " + o.Leaf
	}
	if o.Kind == opMove {
		s += " to " + o.Leaf
	}
	s += ": " + o.Result
	switch {
	case o.isRead() && o.Result == done:
		s += fmt.Sprintf(" %+v", o.Saw)
	case o.Kind == opClaim && o.Result == done:
		s += fmt.Sprintf(" epoch %d after %q", o.Epoch, o.Former)
	case o.Result == unknown:
		s += fmt.Sprintf(", stored %v", o.Stored)
	}
	if o.Stale {
		s += " (may be old)"
	}
	if o.Why != "" {
		s += ": " + o.Why
	}
	return s
}
