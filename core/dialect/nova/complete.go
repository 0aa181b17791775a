package nova

import "github.com/sesslog/sesslog/core"

// Complete compresses a session that a task leaves over its limits: those of
// the last task, or Nova's own.
func (Dialect) Complete(h core.Header, es, added []core.Entry) []byte {
	last := -1
	for i := range added {
		if added[i].Type == typeTask {
			last = i
		}
	}
	if last < 0 || compressed(es) || compressed(added) {
		return nil
	}
	l := limitsOf(added[last])
	f := newFolding(h, es)
	for _, e := range es {
		f.take(e)
	}
	if !f.run(h, added).ShouldPrune(l) {
		return nil
	}
	return NewCompress(l)
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
