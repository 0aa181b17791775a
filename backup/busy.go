package backup

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/core"
)

// A backup goes on from objects that earlier ones left, and a prune takes away
// what no run names: not at the same time. Each says that it is at work before it
// looks whether the other is, so at least one of them sees the other.
const (
	busyPrefix = "busy/"
	takes      = "backup-"
	prunes     = "prune-"
)

// Who died is believed to be at work for so long after the last word. Who has
// said nothing for half of that ends by itself.
var believed = map[string]time.Duration{takes: 24 * time.Hour, prunes: time.Hour}

// sayEvery is how often who is at work says so again.
const sayEvery = 5 * time.Minute

// A note says that somebody is at work in a Repo.
type note struct {
	repo *Repo
	kind string
	key  string
	now  func() time.Time

	mu   sync.Mutex
	said time.Time
}

// enter says that somebody of that kind is at work here, until leave is called.
// core.ErrConflict, naming the note, where one of the kind other is.
func (r *Repo) enter(ctx context.Context, kind, other string, now func() time.Time) (*note, error) {
	n := &note{repo: r, kind: kind, key: busyPrefix + kind + ulid.Make().String(), now: now}
	if err := n.say(ctx); err != nil {
		return nil, err
	}
	for info, err := range r.bucket.List(ctx, busyPrefix+other) {
		if err != nil {
			n.leave(ctx)
			return nil, away(err)
		}
		until := info.Modified.Add(believed[other])
		if until.Before(now()) {
			continue
		}
		n.leave(ctx)
		return nil, fmt.Errorf("%s says that another is at work here; try again when it has ended (one that died is waited for until %s, unless that object is deleted): %w",
			info.Key, until.UTC().Format(time.RFC3339), core.ErrConflict)
	}
	return n, nil
}

func (n *note) say(ctx context.Context) error {
	at := n.now()
	if err := n.repo.bucket.Put(ctx, n.key, strings.NewReader(""), 0); err != nil {
		return away(err)
	}
	n.said = at
	return nil
}

// still says again that its owner is at work, where it is time to. An error means
// that others may believe it dead.
func (n *note) still(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch since := n.now().Sub(n.said); {
	case since > believed[n.kind]/2:
		return fmt.Errorf("it stood still for %s, and others may have begun; do it again: %w", since.Truncate(time.Second), core.ErrConflict)
	case since > sayEvery:
		return n.say(ctx)
	}
	return nil
}

// leaveTime bounds the deletion of a note. One that stays counts for a while, and
// no more.
const leaveTime = 10 * time.Second

func (n *note) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	_ = n.repo.bucket.Delete(ctx, n.key)
}
