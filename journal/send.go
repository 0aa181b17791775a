package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A Sent says what became of what waited for one session.
type Sent struct {
	Session core.SessionID
	Entries int               // appends and other steps that the log has now
	Lines   int               // in them
	Again   int               // of the appends, those that the log had lost
	Heads   map[string]string // heads that others had gone on with, and where it went instead
}

// Send brings what waits for a session to the log and returns how far it came.
// core.ErrUnavailable or ErrUncertain while the log cannot be reached. Any other error says why
// the first that waits cannot land: it and those behind it stay.
func (l *Log) Send(ctx context.Context, id core.SessionID) (Sent, error) {
	b, free, err := l.hold(ctx, id)
	if err != nil {
		return Sent{Session: id}, err
	}
	defer free()
	return l.drain(ctx, b)
}

// Check is Send that asks the log about what was stored, too, where nothing
// waits.
func (l *Log) Check(ctx context.Context, id core.SessionID) (Sent, error) {
	b, free, err := l.hold(ctx, id)
	if err != nil {
		return Sent{Session: id}, err
	}
	defer free()
	if sent, err := l.mend(ctx, b); err != nil || sent.Entries > 0 {
		return sent, err
	}
	return l.drain(ctx, b)
}

// mend finds what the log has lost, and gives it that again.
func (l *Log) mend(ctx context.Context, b *book) (Sent, error) {
	if len(b.items) == len(b.waiting()) {
		return Sent{Session: b.id}, nil
	}
	if _, err := l.view(ctx, b); err != nil {
		return Sent{Session: b.id}, err
	}
	return l.drain(ctx, b)
}

// tries is how often what waits is looked at anew because somebody else came
// between.
const tries = 5

var errAgain = errors.New("somebody came between")

// drain sends what waits. The turn is held.
func (l *Log) drain(ctx context.Context, b *book) (Sent, error) {
	sent := Sent{Session: b.id, Heads: map[string]string{}}
	if len(b.waiting()) == 0 {
		return sent, nil
	}
	err := errAgain
	for range tries {
		if err = l.pass(ctx, b, &sent); err != errAgain {
			break
		}
	}
	switch {
	case err == nil:
		b.setStuck(nil)
		err = l.home(b)
	case err == errAgain:
		err = fmt.Errorf("session %s: others write all the time: %w", b.id, core.ErrUnavailable)
	case !passing(err) && !errors.Is(err, core.ErrFull):
		b.setStuck(err)
	}
	return sent, err
}

// home ends that what is for a head goes elsewhere: its writer has been fenced,
// or meets what others wrote, from now on.
func (l *Log) home(b *book) error {
	for head := range b.own {
		delete(b.handed, head)
		if err := b.mark(note{Op: opOwn, Head: head}, false); err != nil {
			return err
		}
	}
	return nil
}

// pass sends what waits until something stands in the way.
func (l *Log) pass(ctx context.Context, b *book, sent *Sent) error {
	if it := b.waiting()[0]; it.Op == OpCreate {
		at, err := l.inner.Create(ctx, session.New{
			ID: b.id, Dialect: it.Dialect, Header: it.lines[0], Lines: it.lines[1:], By: it.By, Key: it.Key,
		})
		if err != nil {
			return err
		}
		l.landed(b, it, at, sent)
	}
	v, err := l.view(ctx, b)
	if err != nil {
		return err
	}
	for _, it := range b.waiting() {
		if err := l.land(ctx, b, v, it, sent); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) landed(b *book, it *item, at core.Cursor, sent *Sent) {
	if m, ok := b.handed[it.Head]; ok && at != (core.Cursor{}) && b.own[it.Head] == "" {
		m.to = at
		b.handed[it.Head] = m
	}
	l.stored(b, it, at)
	sent.Entries++
	if it.Op == OpAppend || it.Op == OpAmend {
		sent.Lines += len(it.lines)
	}
}

// land brings one item to the log. errAgain where it has to be looked at anew.
func (l *Log) land(ctx context.Context, b *book, v *view, it *item, sent *Sent) error {
	own := b.own[it.Head]
	if own == "" && !v.expects(it) {
		return l.part(b, it, sent)
	}
	w := session.Writing{Head: it.Head, Writer: it.Writer}
	if own != "" {
		w = session.Writing{Head: own}
		sent.Heads[it.Head] = own
	} else if it.Writer == "" {
		w.After = v.cursor
		if it.Leaf == (core.Leaf{}) && v.touched[it.Head] == 0 {
			w.After = it.After
		}
	}
	at, err := l.perform(ctx, b, v, it, w, sent)
	_, line := errors.AsType[*core.LineError](err)
	switch {
	case err == nil:
		v.touched[it.Head]++
		l.landed(b, it, at, sent)
		return nil
	case own == "" && errors.Is(err, core.ErrFenced), own == "" && !line && errors.Is(err, core.ErrConflict) && it.Leaf == (core.Leaf{}):
		return l.part(b, it, sent)
	case own == "" && !line && errors.Is(err, core.ErrConflict):
		return errAgain
	}
	return err
}

// part has what is for an item's head go to a head of its own from now on.
func (l *Log) part(b *book, it *item, sent *Sent) error {
	own := "offline-" + newKey()[:8]
	if err := b.mark(note{Op: opOwn, Head: it.Head, Own: own}, true); err != nil {
		return err
	}
	l.c.Logger.Warn("somebody else went on meanwhile: what was kept goes to a head of its own",
		"session", b.id, "head", it.Head, "own", own)
	return errAgain
}

// perform does what the item says, unless the log has it already.
func (l *Log) perform(ctx context.Context, b *book, v *view, it *item, w session.Writing, sent *Sent) (core.Cursor, error) {
	own := w.Head != it.Head
	switch it.Op {
	case OpAppend:
		return l.sendAppend(ctx, b, v, it, w, sent)
	case OpAmend:
		if v.hasLines(it.lines) {
			return v.cursor, nil
		}
		at, err := l.inner.Amend(ctx, b.id, w, it.lines)
		return v.after(at, err), err
	case OpMove:
		if v.stands(w.Head) == it.To {
			return v.cursor, nil
		}
		at, err := l.inner.Move(ctx, b.id, w, it.To)
		if err == nil {
			v.heads[w.Head] = it.To
		}
		return v.after(at, err), err
	case OpClaim:
		if own {
			return v.cursor, nil
		}
		_, err := l.inner.Claim(ctx, b.id, *it.Claim)
		return v.cursor, err
	case OpRelease:
		if own {
			return v.cursor, nil
		}
		err := l.inner.Release(ctx, b.id, session.Writing{Head: it.Head, Writer: it.Writer})
		if errors.Is(err, core.ErrFenced) { // it is over already
			err = nil
		}
		return v.cursor, err
	}
	return v.cursor, fmt.Errorf("the journal has an entry of kind %q, which this version does not know: %w", it.Op, core.ErrTooNew)
}

func (l *Log) sendAppend(ctx context.Context, b *book, v *view, it *item, w session.Writing, sent *Sent) (core.Cursor, error) {
	leaf := it.Leaf
	if leaf == (core.Leaf{}) { // nothing was known when it was kept
		leaf = v.stands(w.Head)
	}
	lines, err := filled(v.dialect, b.id, &it.note, leaf)
	if err != nil {
		return v.cursor, err
	}
	ids, err := idsOf(v.dialect, lines)
	if err != nil {
		return v.cursor, err
	}
	if v.hasAll(ids) {
		return v.cursor, nil
	}
	rec, err := l.inner.Append(ctx, b.id, w, lines)
	if err != nil {
		return v.cursor, err
	}
	v.add(ids, lines)
	v.heads[w.Head], _ = leafAfter(v.dialect, lines, leaf)
	if it.To == (core.Leaf{}) {
		it.To = v.heads[w.Head]
	}
	if it.again && rec.Stored > 0 {
		sent.Again++
		l.losses.Add(1)
		l.c.Logger.Error("the log had lost an append, it has it again", "session", b.id, "lines", len(lines), "at", rec.Cursor)
	}
	return v.after(rec.Cursor, nil), nil
}
