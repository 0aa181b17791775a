package follow

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// request calls send, which sends a write to f's session. Before that it saves
// that the answer may be missing, because the process may end before it arrives.
func (fl *Follower) request(f *file, send func() error) error {
	p := &f.place
	before := p.Unacked
	if !before {
		p.Unacked = true
		noted := *p
		noted.record(unknownStat())
		fl.remember(noted)
	}
	err := send()
	if err == nil {
		fl.noteBack()
	}
	p.Unacked = before || isUnacked(err)
	return err
}

// fence makes the log reject requests to f's session that were sent and may still
// arrive, if there are any. If another writer holds the head, the fence is
// rejected, as are those requests; it is retried with exponential backoff.
func (fl *Follower) fence(ctx context.Context, f *file) error {
	if !f.needsFence() {
		return nil
	}
	hs, err := fl.cfg.Node.Heads(ctx, string(f.place.Session))
	if errors.Is(err, core.ErrNotFound) {
		f.place.Unacked = false // a delayed import may create the session, but only once
		return nil
	}
	if err != nil {
		return err
	}
	err = fl.putNote(ctx, f, hs, fmt.Sprintf("an answer about %s was lost: what was sent before this and has not arrived does not count", f.path))
	if err == nil {
		f.noteFence(!f.place.Unacked)
	}
	return err
}
