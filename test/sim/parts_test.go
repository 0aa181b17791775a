package sim

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/snapshot"
	"github.com/sesslog/sesslog/engine"
)

// A form is how a snapshot is stored: whole, or as a change to the last one, which is
// part of the manifest or a separate object.
type form struct {
	rests, carries bool
	again          int // earlier changes that the new one includes
}

// drawForm draws a form.
func (a *actor) drawForm() form {
	return form{rests: a.rand.IntN(3) > 0, carries: a.rand.IntN(2) == 0, again: a.rand.IntN(3)}
}

// save stores d's snapshot in form f if possible.
func (w *world) save(ctx context.Context, s shelf, d *engine.Draft, f form) error {
	if f.rests && len(d.FormerParts) > 0 {
		rests, err := s.rest(ctx, d, f)
		if rests || err != nil {
			return err
		}
	}
	return s.put(ctx, d.Manifest.Object, d.Plain)
}

// rest stores the change since the last snapshot. It returns false if that snapshot
// cannot be read.
func (s shelf) rest(ctx context.Context, d *engine.Draft, f form) (bool, error) {
	parts := d.FormerParts
	if last := len(parts) - 1; parts[last].Object == "" {
		parts = parts[:last]
	}
	parts = parts[:max(1, len(parts)-f.again)]
	old, err := s.compose(ctx, parts)
	if err != nil {
		return false, nil
	}
	change, ok := snapshot.Diff(old, d.Plain)
	if !ok {
		return false, fmt.Errorf("record %d of %s has fewer lines than an earlier one: %w", d.Manifest.Seq, d.Manifest.Session, core.ErrCorrupt)
	}
	p := core.Part{Size: int64(len(change)), SHA256: core.DigestOf(change), Inline: change}
	if !f.carries {
		p.Inline, p.Object = nil, fmt.Sprintf("snapshots/%s/%020d-%s.change", d.Manifest.Session, d.Manifest.Seq, p.SHA256)
		if err := s.put(ctx, p.Object, change); err != nil {
			return false, err
		}
	}
	d.Manifest.SetParts(append(parts[:len(parts):len(parts)], p))
	s.w.count("snapshots that rest on others")
	return true, nil
}

// compose combines parts.
func (s shelf) compose(ctx context.Context, parts []core.Part) ([]byte, error) {
	var plain [][]byte
	for _, p := range parts {
		b := p.Inline
		if p.Object != "" {
			var err error
			if b, err = s.get(ctx, p.Object); err != nil {
				return nil, err
			}
		}
		if core.DigestOf(b) != p.SHA256 {
			return nil, fmt.Errorf("part %s is damaged: %w", p.Object, core.ErrCorrupt)
		}
		plain = append(plain, bytes.Clone(b))
	}
	return snapshot.Patch(plain[0], plain[1:]...)
}

// collect deletes snapshots that are older than the session's current one and not part of
// it. A broker that loses records may lose the checkpoint that names the current one. So
// nothing is deleted in worlds that lose records.
func (a *actor) collect() {
	if a.w.weather.powerCut > 0 {
		return
	}
	n := a.node()
	ctx, cancel := n.within(clientTimeout)
	defer cancel()
	n.mu.Lock()
	ss := n.ss
	n.mu.Unlock()
	s, err := ss.Open(ctx, a.id)
	a.wait()
	a.w.heard(a, err)
	if err != nil || s.BaseManifest() == nil || s.Orphans() > 0 {
		return
	}
	named := map[string]bool{}
	for _, key := range s.BaseManifest().Objects() {
		named[key] = true
	}
	prefix := "snapshots/" + string(a.id) + "/"
	_ = shelf{a.w, n.name}.call(ctx, "delete old snapshots of "+string(a.id), func(fails, _ bool) {
		for key := range a.w.objects {
			if !fails && strings.HasPrefix(key, prefix) && key < s.BaseManifest().Object && !named[key] {
				delete(a.w.objects, key)
				a.w.count("old snapshots deleted")
			}
		}
	})
}
