package follow

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// A request whose connection broke may arrive later, when the file is another
// already. So each write to a session says what of the session must be as it was
// when the write was made up: all of it, for an amendment or an import, else the
// head that it goes to. And where an answer is missing, a record is put behind
// whatever has arrived before the file is looked at again: from then on what is
// still on its way is refused.

// ask has send write to f's session. Before that it is noted that an answer may
// not come: for send to be lost, or the process to end, is the same.
func (b *Follower) ask(f *file, send func() error) error {
	p := &f.place
	before := p.Unheard
	if !before {
		p.Unheard = true
		noted := *p
		noted.saw(nowhere())
		b.remember(noted)
	}
	err := send()
	if err == nil {
		b.answered()
	}
	p.Unheard = before || isLost(err)
	return err
}

// isLost reports whether err leaves open whether what was sent is stored, or will
// be: no node has said so, and something was sent.
func isLost(err error) bool {
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*api.Error](err); ok {
		return errors.Is(err, core.ErrUncertain)
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return !ok || dial.Op != "dial"
}

// fence has the log refuse from now on what was sent to f's session and has not
// arrived, where there may be such. Where somebody else holds the head it cannot,
// and neither can what was sent, as long as they do; it is tried again after a
// minute, and then ever more seldom.
func (b *Follower) fence(ctx context.Context, f *file) error {
	if !f.isUnheard() {
		return nil
	}
	hs, err := b.cfg.Node.Heads(ctx, string(f.place.Session))
	if errors.Is(err, core.ErrNotFound) {
		f.place.Unheard = false // what would make the session does so once
		return nil
	}
	if err != nil {
		return err
	}
	err = b.put(ctx, f, hs, fmt.Sprintf("an answer about %s was lost: what was sent before this and has not arrived does not count", f.path))
	if err == nil {
		f.fenced(!f.place.Unheard)
	}
	return err
}

// hasMoved reports whether err says that the log has something else, and not that
// somebody holds the head.
func hasMoved(err error) bool {
	return errors.Is(err, core.ErrConflict) && !errors.Is(err, core.ErrFenced)
}

// hasChanged reports whether err says that the session is not where it was when
// the write was made up.
func hasChanged(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && errors.Is(err, core.ErrConflict) && e.Detail.Line == 0 && e.Detail.Head == "" && e.Detail.Cursor != nil
}
