package doctor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// Limits of an examination. It reads a random choice of the objects that rows name, the
// first one in any case.
const (
	sampledMost = 10_000
	readMost    = 256 << 20 // bytes
	readTime    = 10 * time.Second
)

// An object is a part of a session's latest snapshot.
type object struct {
	session core.SessionID
	key     string
	size    int64
}

// A sample is a random choice of objects.
type sample struct {
	objects []object
	of      int
}

func (s *sample) add(o object) {
	s.of++
	if len(s.objects) < sampledMost {
		s.objects = append(s.objects, o)
	} else if i := rand.IntN(s.of); i < sampledMost {
		s.objects[i] = o
	}
}

// needed returns the objects of a row's snapshot, or a later one in their place.
func (k *kept) needed(row *catalog.Row) []object {
	var out []object
	seq, changes := row.Kept, row.Changes
	if !slices.Contains(k.seqs, seq) && len(k.seqs) > 0 {
		seq, changes = slices.Max(k.seqs), nil
	}
	for _, o := range k.objects {
		n, isChange := materializer.SnapshotSeq(o.key), materializer.IsChange(o.key)
		if !isChange && n == seq || isChange && slices.Contains(changes, n) {
			out = append(out, o)
		}
	}
	return out
}

// contents reads objects, and reports the sessions whose snapshot is corrupt. It returns
// how many it read.
func (d *Doctor) contents(ctx context.Context, f *finder, s *sample) (read int, err error) {
	rand.Shuffle(len(s.objects), func(i, j int) { s.objects[i], s.objects[j] = s.objects[j], s.objects[i] })
	snapshots, began, bytes := materializer.NewSnapshots(d.Bucket), time.Now(), int64(0)
	verified := map[core.SessionID]bool{}
	for _, o := range s.objects {
		if bytes += o.size; read > 0 && (bytes > readMost || time.Since(began) > readTime) {
			break
		}
		err := snapshots.CheckObject(ctx, o.key)
		switch {
		case errors.Is(err, core.ErrNotFound): // superseded meanwhile
		case errors.Is(err, core.ErrCorrupt):
			if err := d.corruptSnapshot(ctx, f, o, verified); err != nil {
				return read, err
			}
		case err != nil:
			return read, err
		}
		read++
	}
	return read, nil
}

// corruptSnapshot reports a session with a corrupt object. A verification tells whether it
// needs it, and has status name the session.
func (d *Doctor) corruptSnapshot(ctx context.Context, f *finder, o object, verified map[core.SessionID]bool) error {
	if verified[o.session] {
		return nil
	}
	if len(verified) < verifiedMost {
		verified[o.session] = true
		r, err := d.Verifier.Verify(ctx, o.session)
		if ctx.Err() != nil {
			return err
		}
		if err == nil && len(r.Problems) == 0 {
			return nil
		}
	}
	f.addTreatable(report.Danger, string(o.session), fmt.Sprintf("its snapshot %s is corrupt", o.key), "sessctl verify --repair "+string(o.session), d.repair(o.session))
	return nil
}
