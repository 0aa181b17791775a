package journal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// Config says how a Log behaves. The zero value is good.
type Config struct {
	Logger *slog.Logger // default slog.Default
	// Check is how often Run asks the log about what was stored: whether it is
	// still there, and whether a snapshot covers it. Default one minute.
	Check time.Duration
}

// A Log is a session.Log that keeps in a journal what the log beneath does not
// take because it cannot be reached. A call that was kept is no error: its
// cursor is the last that was known, an append's Receipt counts the lines as
// Kept, and Journal.Sessions has what waits. What the log refuses is refused,
// and not kept. Calls for one session run one at a time.
type Log struct {
	inner  session.Log
	j      *Journal
	c      Config
	wake   chan struct{}
	losses atomic.Uint64
}

var _ session.Log = (*Log)(nil)

// New returns a Log over inner and j, which stays the caller's to close.
func New(inner session.Log, j *Journal, c Config) *Log {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Check == 0 {
		c.Check = time.Minute
	}
	return &Log{inner: inner, j: j, c: c, wake: make(chan struct{}, 1)}
}

// Losses is how many appends the log was found to have lost and was given again
// since the Log was made.
func (l *Log) Losses() uint64 { return l.losses.Load() }

// passing reports whether err will pass: the log could not be asked, or did not
// answer.
func passing(err error) bool {
	for _, e := range []error{core.ErrUnavailable, core.ErrUncertain, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// hold returns the file of session id, which is the caller's until it calls
// free.
func (l *Log) hold(ctx context.Context, id core.SessionID) (b *book, free func(), err error) {
	b, err = l.j.book(id)
	if err != nil {
		return nil, nil, err
	}
	if err := b.lock(ctx); err != nil {
		return nil, nil, err
	}
	return b, b.unlock, nil
}

// do keeps n and has the log do it, unless others wait before it. It returns the
// item, which was stored or waits, or why the log refused it.
func (l *Log) do(ctx context.Context, b *book, n note, call func() (core.Cursor, error)) (*item, error) {
	behind := len(b.waiting()) > 0
	n.Time, n.Leaf = time.Now().UTC(), b.stands(n.Head)
	it, err := b.keep(n)
	if err != nil {
		return nil, err
	}
	if behind {
		l.stir()
		return it, nil
	}
	at, err := call()
	return it, l.became(b, it, at, err)
}

// became notes what became of the first item that waits. What waits on is no
// error.
func (l *Log) became(b *book, it *item, at core.Cursor, err error) error {
	switch {
	case err == nil:
		l.stored(b, it, at)
		return nil
	case passing(err):
		l.c.Logger.Warn("kept in the journal, the log cannot be reached", "session", b.id, "op", it.Op, "err", err)
		l.stir()
		return nil
	}
	if e := b.mark(note{Op: opRefused, N: it.N}, true); e != nil {
		return errors.Join(err, e)
	}
	return err
}

// stored notes that the log has an item, at or before the record at. That it
// cannot be noted does no harm: it would be sent again.
func (l *Log) stored(b *book, it *item, at core.Cursor) {
	n := note{Op: opStored, N: it.N, At: at, Dialect: b.dialect}
	if it.To != (core.Leaf{}) && b.own[it.Head] == "" {
		n.Head, n.To = it.Head, it.To
	}
	if err := b.noteStored(n); err != nil {
		l.c.Logger.Error("what was stored cannot be noted in the journal", "session", b.id, "err", err)
	}
}

// stir wakes Run.
func (l *Log) stir() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// stands is where head stands for this writer, after what waits. The zero Leaf
// where that is not known.
func (b *book) stands(head string) core.Leaf {
	leaf := b.known(head).leaf
	for _, it := range b.waiting() {
		if it.Head == head && it.Op != OpAmend && it.Op != OpClaim && it.Op != OpRelease {
			leaf = it.To
		}
	}
	return leaf
}

// known is what was last heard of head. One that nobody made stands where main
// does.
func (b *book) known(head string) seen {
	if s, ok := b.heads[head]; ok {
		return s
	}
	return b.heads[core.MainHead]
}

// placed is w with the cursor that its writer would have, had it been told where
// what was kept for it has landed.
func (b *book) placed(w session.Writing) session.Writing {
	if m, ok := b.handed[w.Head]; ok && w.After == m.from {
		w.After = m.to
	}
	return w
}

// given is the cursor for the caller of what was kept.
func (b *book) given(w session.Writing) core.Cursor {
	at := w.After
	if at == (core.Cursor{}) {
		at = b.known(w.Head).at
	}
	if at != (core.Cursor{}) && b.handed[w.Head].from != at {
		b.handed[w.Head] = moved{at, at}
	}
	return at
}

// Create implements session.Log. Where it is kept the cursor is zero.
func (l *Log) Create(ctx context.Context, n session.New) (core.Cursor, error) {
	b, free, err := l.hold(ctx, n.ID)
	if err != nil {
		return core.Cursor{}, err
	}
	defer free()
	d, err := named(n.Dialect)
	if err != nil {
		return core.Cursor{}, err
	}
	if _, err := d.Header(n.Header); err != nil {
		return core.Cursor{}, fmt.Errorf("the header: %w", err)
	}
	to, err := leafAfter(d, n.Lines, core.NoLeaf)
	if err != nil {
		return core.Cursor{}, err
	}
	if ws := b.waiting(); len(ws) > 0 {
		if ws[0].Op == OpCreate && ws[0].Key == n.Key {
			return core.Cursor{}, nil // the same again
		}
		return core.Cursor{}, fmt.Errorf("session %s waits in the journal: %w", n.ID, core.ErrExists)
	}
	var at core.Cursor
	_, err = l.do(ctx, b, note{
		Op: OpCreate, Head: core.MainHead, To: to, Key: n.Key, Dialect: n.Dialect, By: n.By,
		lines: append([][]byte{n.Header}, n.Lines...),
	}, func() (core.Cursor, error) {
		var err error
		at, err = l.inner.Create(ctx, n)
		return at, err
	})
	return at, err
}

// Append implements session.Log. Lines that lack an id get one, those that are
// kept their place and time, too, where the session's dialect is known.
func (l *Log) Append(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (session.Receipt, error) {
	b, free, err := l.hold(ctx, id)
	if err != nil {
		return session.Receipt{}, err
	}
	defer free()
	rec, err := l.append(ctx, b, w, lines)
	if err == nil || passing(err) || errors.Is(err, core.ErrTooLarge) {
		return rec, err
	}
	// It may be refused for want of what the log has lost.
	if sent, e := l.mend(ctx, b); e == nil && sent.Again > 0 {
		return l.append(ctx, b, w, lines)
	}
	return rec, err
}

func (l *Log) append(ctx context.Context, b *book, w session.Writing, lines [][]byte) (session.Receipt, error) {
	if w.Head == "" {
		w.Head = core.MainHead
	}
	n := note{Op: OpAppend, Head: w.Head, Writer: w.Writer, After: w.After, Key: newKey(), lines: lines}
	whole, err := b.complete(&n)
	if err != nil {
		return session.Receipt{}, err
	}
	if !whole && len(b.waiting()) == 0 {
		return l.appendUnmet(ctx, b, w, n)
	}
	var rec session.Receipt
	it, err := l.do(ctx, b, n, func() (core.Cursor, error) {
		var err error
		rec, err = l.inner.Append(ctx, b.id, b.placed(w), n.lines)
		return rec.Cursor, err
	})
	if err == nil && !it.stored {
		return session.Receipt{Kept: len(lines), Cursor: b.given(w)}, nil
	}
	return rec, err
}

// appendUnmet appends to a session of which the journal does not know how its
// lines look: it is read first. Where it cannot be, they are kept as they came.
func (l *Log) appendUnmet(ctx context.Context, b *book, w session.Writing, n note) (session.Receipt, error) {
	_, err := l.view(ctx, b)
	if err == nil {
		return l.append(ctx, b, w, n.lines)
	}
	if !passing(err) {
		return session.Receipt{}, err
	}
	n.Time = time.Now().UTC()
	if _, err := b.keep(n); err != nil {
		return session.Receipt{}, err
	}
	l.stir()
	return session.Receipt{Kept: len(n.lines), Cursor: b.given(w)}, nil
}

// Amend implements session.Log.
func (l *Log) Amend(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (core.Cursor, error) {
	return l.step(ctx, id, w, note{Op: OpAmend, lines: lines}, func(w session.Writing) (core.Cursor, error) {
		return l.inner.Amend(ctx, id, w, lines)
	})
}

// Move implements session.Log.
func (l *Log) Move(ctx context.Context, id core.SessionID, w session.Writing, leaf core.Leaf) (core.Cursor, error) {
	return l.step(ctx, id, w, note{Op: OpMove, To: leaf}, func(w session.Writing) (core.Cursor, error) {
		return l.inner.Move(ctx, id, w, leaf)
	})
}

func (l *Log) step(ctx context.Context, id core.SessionID, w session.Writing, n note, call func(session.Writing) (core.Cursor, error)) (core.Cursor, error) {
	b, free, err := l.hold(ctx, id)
	if err != nil {
		return core.Cursor{}, err
	}
	defer free()
	if w.Head == "" {
		w.Head = core.MainHead
	}
	n.Head, n.Writer, n.After = w.Head, w.Writer, w.After
	var at core.Cursor
	it, err := l.do(ctx, b, n, func() (core.Cursor, error) {
		var err error
		at, err = call(b.placed(w))
		return at, err
	})
	if err == nil && !it.stored {
		at = b.given(w)
	}
	return at, err
}

// Claim implements session.Log. It is kept only for a session whose making
// waits, too: of others it cannot be known who holds the head.
func (l *Log) Claim(ctx context.Context, id core.SessionID, c session.Claim) (core.Claim, error) {
	b, free, err := l.hold(ctx, id)
	if err != nil {
		return core.Claim{}, err
	}
	defer free()
	if ws := b.waiting(); len(ws) > 0 { // they are spoken from what was before
		if _, err := l.drain(ctx, b); err != nil {
			if !passing(err) || ws[0].Op != OpCreate || c.Writer == "" {
				return core.Claim{}, err
			}
			return l.keepClaim(b, c)
		}
	}
	return l.inner.Claim(ctx, id, c)
}

func (l *Log) keepClaim(b *book, c session.Claim) (core.Claim, error) {
	out := core.Claim{Writer: c.Writer, Agent: c.Agent, Host: c.Host, By: c.By, Since: time.Now().UTC()}
	for _, it := range b.waiting() {
		if it.Op == OpClaim && it.Head == c.Head && it.Claim.Writer == c.Writer {
			return out, nil
		}
	}
	leaf := b.stands(c.Head)
	_, err := b.keep(note{Op: OpClaim, Time: out.Since, Head: c.Head, Claim: &c, Leaf: leaf, To: leaf})
	return out, err
}

// Release implements session.Log.
func (l *Log) Release(ctx context.Context, id core.SessionID, w session.Writing) error {
	if w.Writer == "" {
		if err := l.inner.Release(ctx, id, w); !passing(err) {
			return err
		}
		return nil // there is nothing to give up
	}
	_, err := l.step(ctx, id, w, note{Op: OpRelease}, func(w session.Writing) (core.Cursor, error) {
		return core.Cursor{}, l.inner.Release(ctx, id, w)
	})
	return err
}

// Fork implements session.Log. What waits is not in the new session.
func (l *Log) Fork(ctx context.Context, id core.SessionID, f session.Fork) (core.SessionID, error) {
	return l.inner.Fork(ctx, id, f)
}

// Recent implements session.Log. What waits is not found.
func (l *Log) Recent(ctx context.Context, q session.Query) ([]session.Found, error) {
	return l.inner.Recent(ctx, q)
}

// Follow implements session.Log. It tells of what the log has alone.
func (l *Log) Follow(ctx context.Context, id core.SessionID, after core.Cursor, wait bool, f func(session.Event) error) error {
	return l.inner.Follow(ctx, id, after, wait, f)
}

func newKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
