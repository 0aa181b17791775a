package materializer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

const (
	// mostInline is the largest plain size of a change that is kept in the
	// manifest. It needs no object, and the record stays small enough not to become
	// a blob.
	mostInline = 128 << 10
	// mostParts limits the objects from which a snapshot is read.
	mostParts = 48
	// mergeFrom is how many times a change's size the later ones must have for it
	// to be merged with them.
	mergeFrom = 11
	// partsAtOnce limits concurrent reads of parts.
	partsAtOnce = 8
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
	if stay+3 > mostParts { // the first part, the new one, and one inline
		return 0
	}
	return stay
}

// ChangeKey returns the key of a change that completes the snapshot of a session at
// seq. sum is the digest of the snapshot's plain bytes.
func ChangeKey(log string, id core.SessionID, seq uint64, sum core.Digest) string {
	return fmt.Sprintf("%s%020d-%x.change.zst", sessionPrefix(log, id), seq, sum[:8])
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
	plain, err := readParts(ctx, d.Manifest, former, s.read)
	if err != nil {
		if isLost(err) {
			return false, nil
		}
		return false, err
	}
	r := incremental{m: *d.Manifest, former: former, plain: plain, next: d.Plain}
	whole := r.m.Whole()
	if _, err := packPart(&whole, d.Plain); err != nil {
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
	if len(change) <= mostInline {
		if p.Inline, err = packPart(&p, change); err != nil {
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
	if object, err = packPart(&p, change); err != nil {
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
		if old, err = core.Patch(first, others...); err != nil {
			return nil
		}
	}
	change, ok := core.Diff(old, r.next)
	if !ok {
		return nil
	}
	if again, err := core.Patch(first, append(others, change)...); err != nil || !bytes.Equal(again, r.next) {
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

// compose returns the bytes of m's parts. It does not compare their digest.
func (s *Snapshots) compose(ctx context.Context, m *core.Manifest) ([]byte, error) {
	return composeBy(ctx, m, func(ctx context.Context, p core.Part) ([]byte, error) {
		plain, checked, err := s.load(ctx, p)
		if err != nil {
			return nil, err
		}
		return plain, checked()
	})
}

// composeVerified is compose from the bucket, comparing all digests.
func (s *Snapshots) composeVerified(ctx context.Context, m *core.Manifest) ([]byte, error) {
	return composeVerifiedBy(ctx, m, s.read)
}

// composeVerifiedBy returns the bytes of m's parts after comparing their digest.
func composeVerifiedBy(ctx context.Context, m *core.Manifest, read partReader) ([]byte, error) {
	plain, err := composeBy(ctx, m, read)
	if err == nil && core.DigestOf(plain) != m.SHA256 {
		return nil, corrupt(m.Whole(), errDifferent)
	}
	return plain, err
}

// A partReader returns the plain bytes of an object.
type partReader func(context.Context, core.Part) ([]byte, error)

func composeBy(ctx context.Context, m *core.Manifest, read partReader) ([]byte, error) {
	parts, err := readParts(ctx, m, m.Parts, read)
	if err != nil {
		return nil, err
	}
	plain, err := core.Patch(parts[0], parts[1:]...)
	if err == nil && int64(len(plain)) != m.Size {
		err = errDifferent
	}
	if err != nil {
		return nil, corrupt(m.Whole(), err)
	}
	return plain, nil
}

// readParts returns the plain bytes of parts, which are m's or those that m will
// rest on.
func readParts(ctx context.Context, m *core.Manifest, parts []core.Part, read partReader) ([][]byte, error) {
	if err := checkParts(m, parts); err != nil {
		return nil, err
	}
	plain := make([][]byte, len(parts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(partsAtOnce)
	for i, p := range parts {
		g.Go(func() (err error) {
			if p.Object == "" {
				plain[i], err = unpackVerified(p.Inline, p)
			} else {
				plain[i], err = read(ctx, p)
			}
			return err
		})
	}
	return plain, g.Wait()
}

// checkParts returns core.ErrCorrupt if a snapshot of m's session cannot have these
// parts.
func checkParts(m *core.Manifest, parts []core.Part) error {
	if len(parts) == 0 || len(parts) > mostParts {
		return fmt.Errorf("snapshot %s has %d parts, 1 to %d are allowed: %w", m.Object, len(parts), mostParts, core.ErrCorrupt)
	}
	prefix := sessionPrefix(m.Log, m.Session)
	for i, p := range parts {
		isInline := p.Object == "" && i == len(parts)-1 && i > 0 && p.Size <= mostInline
		isObject := strings.HasPrefix(p.Object, prefix) && blobstore.CheckKey(p.Object) == nil
		if p.Size < 0 || !isInline && !isObject {
			return fmt.Errorf("snapshot %s has a part %d of %d bytes at %q: %w", m.Object, i+1, p.Size, p.Object, core.ErrCorrupt)
		}
	}
	return nil
}
