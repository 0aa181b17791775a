package nova

import (
	"slices"

	"github.com/sesslog/sesslog/core"
)

// Complete compresses a session after the first task that leaves it over its
// limits: those of the task, or Nova's own. What follows the task stays.
func (Dialect) Complete(h core.Header, es, added []core.Entry) (line []byte, n int) {
	isTask := func(e core.Entry) bool { return e.Type == typeTask }
	if !slices.ContainsFunc(added, isTask) || compressed(es) || compressed(added) {
		return nil, 0
	}
	f := newFolding(h, es)
	for _, e := range es {
		f.take(e)
	}
	for i, e := range added {
		f.take(e)
		if !isTask(e) {
			continue
		}
		if l := limitsOf(e); f.end(h).ShouldPrune(l) {
			return NewCompress(l), i + 1
		}
	}
	return nil, 0
}

// compressed reports whether es end with changes of a compressed state. It reads
// types only, since a session is compressed once.
func compressed(es []core.Entry) bool {
	for i := len(es) - 1; i >= 0; i-- {
		switch es[i].Type {
		case typeCompress:
			return true
		case typeState, typeBegin:
			return false
		}
	}
	return false
}

// limitsOf returns the limits that a task sets, and Nova's own for the others.
func limitsOf(task core.Entry) Limits {
	r, ok := members(task)
	if !ok {
		return DefaultLimits
	}
	l := r.limits()
	if r.err != nil {
		return DefaultLimits
	}
	return l
}

// limits reads the limits of a line. Nova's own take the place of missing ones.
func (r *reader) limits() Limits {
	l := DefaultLimits
	if r.get("max_decisions") != nil {
		l.Decisions = int(min(r.number("max_decisions"), 1<<30))
	}
	if r.get("max_tokens") != nil {
		l.Tokens = r.number("max_tokens")
	}
	return l
}

// ForkMark makes the line that counts a fork.
func (Dialect) ForkMark(child core.Header) []byte {
	w := begin(typeForked)
	w.text("child", child.ID)
	return w.end()
}
