package materializer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/snapshot"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

const (
	// mergeFrom is how many times a change's size the later ones must have for it
	// to be merged with them.
	mergeFrom = 11
)

// keptChanges returns how many of the changes of those sizes, all objects, are kept
// when a change of size next is added; the others are merged into it. Each rewrite
// puts bytes into something at least twelve times as large, so n bytes have at most
// log n / log 12/11 changes.
func keptChanges(sizes []int64, next int64) int {
	stay, behind := len(sizes), next
	for i := len(sizes) - 1; i >= 0; i-- {
		if behind >= mergeFrom*sizes[i] {
			stay = i
		}
		behind += sizes[i]
	}
	if stay+3 > snapshot.MaxParts { // the first part, the new one, and one inline
		return 0
	}
	return stay
}

// ChangeKey returns the key of a change that completes the snapshot of a session at
// seq. sum is the digest of the snapshot's plain bytes.
func ChangeKey(log string, id core.SessionID, seq uint64, sum core.Digest) string {
	return fmt.Sprintf("%s%020d-%x.change.zst", snapshot.Prefix(log, id), seq, sum[:8])
}

// IsChange reports whether key is one of ChangeKey.
func IsChange(key string) bool { return strings.HasSuffix(key, ".change.zst") }

// keepIncremental makes d's snapshot durable as the parts of d.Former plus a
// change, and sets the manifest's parts. It returns false, and has changed nothing,
// if the snapshot must be written whole: the former one cannot be read, or little
// would be saved.
func (s *Snapshots) keepIncremental(ctx context.Context, d *engine.Draft) (bool, error) {
	former := d.FormerParts
	if len(former[len(former)-1].Inline) > 0 {
		former = former[:len(former)-1]
	}
	plain, err := snapshot.ReadParts(ctx, d.Manifest, former, s.read)
	if err != nil {
		if isLost(err) {
			return false, nil
		}
		return false, err
	}
	r := incremental{m: *d.Manifest, former: former, plain: plain, next: d.Plain}
	whole := r.m.Whole()
	if _, err := snapshot.PackPart(&whole, d.Plain); err != nil {
		return false, err
	}
	r.m.Packed = whole.Packed
	r.m.Written -= r.m.Size // it is not written whole
	object, err := r.choose()
	if err != nil || len(r.m.Parts) == 0 {
		return false, err
	}
	if object != nil {
		if err := s.put(ctx, r.m.Parts[len(r.m.Parts)-1].Object, object); err != nil {
			return false, err
		}
	}
	*d.Manifest = r.m
	return true, nil
}

// An incremental is a new snapshot that consists of the parts of a former one and a
// change.
type incremental struct {
	m      core.Manifest
	former []core.Part // all of them objects
	plain  [][]byte    // their plain bytes
	next   []byte      // plain bytes of m's snapshot
}

// choose sets m's parts: the former ones and, if it is small, a change inside m;
// else the former ones that are kept and a change that is an object, which it
// returns packed. m has no parts if it must be written whole.
func (r *incremental) choose() (object []byte, err error) {
	stay := len(r.former) - 1
	change := r.since(stay)
	if change == nil {
		return nil, nil
	}
	p := core.Part{Size: int64(len(change)), SHA256: core.DigestOf(change)}
	if len(change) <= snapshot.MaxInline {
		if p.Inline, err = snapshot.PackPart(&p, change); err != nil {
			return nil, err
		}
		if r.put(stay, p); isRecord(&r.m) {
			return nil, nil
		}
		r.m.SetParts(nil)
	}
	if n := keptChanges(r.sizes(), p.Size); n < stay {
		stay, change = n, r.since(n)
	}
	if change == nil || len(change) >= len(r.next)/2 {
		return nil, nil
	}
	p = core.Part{Size: int64(len(change)), SHA256: core.DigestOf(change)}
	p.Object = ChangeKey(r.m.Log, r.m.Session, r.m.Seq, p.SHA256)
	if object, err = snapshot.PackPart(&p, change); err != nil {
		return nil, err
	}
	r.put(stay, p)
	r.m.Written += p.Size
	return object, nil
}

// put sets m's parts to the first of the former parts, with that many changes, and
// p.
func (r *incremental) put(changes int, p core.Part) {
	r.m.SetParts(append(slices.Clone(r.former[:changes+1]), p))
}

// since returns the change after the first of the former parts, with that many
// changes. It returns nil if a reader would not get identical bytes from it.
func (r *incremental) since(changes int) []byte {
	first, others := r.plain[0], r.plain[1:changes+1:changes+1]
	old := first
	if changes > 0 {
		var err error
		if old, err = snapshot.Patch(first, others...); err != nil {
			return nil
		}
	}
	change, ok := snapshot.Diff(old, r.next)
	if !ok {
		return nil
	}
	if again, err := snapshot.Patch(first, append(others, change)...); err != nil || !bytes.Equal(again, r.next) {
		return nil
	}
	return change
}

// sizes returns the sizes of the former changes.
func (r *incremental) sizes() []int64 {
	var sizes []int64
	for _, p := range r.former[1:] {
		sizes = append(sizes, p.Size)
	}
	return sizes
}

// isRecord reports whether m fits into a record.
func isRecord(m *core.Manifest) bool {
	body, err := json.Marshal(m)
	return err == nil && len(body) <= stream.SpillSize
}

// addWindow puts the window of d into its manifest, if that remains a record.
func addWindow(d *engine.Draft) error {
	if len(d.Window) == 0 {
		return nil
	}
	p := core.Part{Size: int64(len(d.Window)), SHA256: core.DigestOf(d.Window)}
	packed, err := snapshot.PackPart(&p, d.Window)
	if err != nil {
		return err
	}
	p.Inline = packed
	if d.Manifest.Window = (&core.WindowPart{Part: p, Before: d.Before}); !isRecord(d.Manifest) {
		d.Manifest.Window = nil
	}
	return nil
}

// compose returns the bytes of m's parts. It does not compare their digest.
func (s *Snapshots) compose(ctx context.Context, m *core.Manifest) ([]byte, error) {
	return snapshot.Compose(ctx, m, func(ctx context.Context, p core.Part) ([]byte, error) {
		plain, checked, err := s.load(ctx, p)
		if err != nil {
			return nil, err
		}
		return plain, checked()
	})
}

// composeVerified is compose from the bucket, comparing all digests.
func (s *Snapshots) composeVerified(ctx context.Context, m *core.Manifest) ([]byte, error) {
	return snapshot.ComposeVerified(ctx, m, s.read)
}
