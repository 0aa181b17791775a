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
	// mostInline is how many bytes a change may have, plain, that is kept in the
	// manifest: it costs no object, and a record with it does not become a blob.
	mostInline = 128 << 10
	// mostParts bounds the objects that a snapshot is read from.
	mostParts = 48
	// mergeFrom is how many times its own size must be behind a change for it to be
	// written again with that.
	mergeFrom = 11
	// partsAtOnce is how many parts are read at the same time.
	partsAtOnce = 8
)

// standing returns how many of the changes of those sizes, which are objects, stay
// when one more of size next comes behind them; the others become part of that.
// Each time that bytes are written again they are so in something at least twelve
// times as large, and of n bytes there are at most log n / log 12/11 changes.
func standing(sizes []int64, next int64) int {
	stay, behind := len(sizes), next
	for i := len(sizes) - 1; i >= 0; i-- {
		if behind >= mergeFrom*sizes[i] {
			stay = i
		}
		behind += sizes[i]
	}
	if stay+3 > mostParts { // the first part, the new one, and one that is inline
		return 0
	}
	return stay
}

// ChangeKey is the key of a change that makes the snapshot of a session that
// covers its record seq, and whose plain bytes have the digest sum.
func ChangeKey(log string, id core.SessionID, seq uint64, sum core.Digest) string {
	return fmt.Sprintf("%s%020d-%x.change.zst", sessionPrefix(log, id), seq, sum[:8])
}

// IsChange reports whether key is one of ChangeKey.
func IsChange(key string) bool { return strings.HasSuffix(key, ".change.zst") }

// rest has d's manifest name what d.Former is made of and what has come since, and
// makes that durable. It reports false, and has changed nothing, where d's snapshot
// is to be written whole: the former one cannot be read, or little would be saved.
func (s *Snapshots) rest(ctx context.Context, d *engine.Draft) (bool, error) {
	former := d.Former
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
	r := resting{m: *d.Manifest, former: former, plain: plain, next: d.Plain}
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

// A resting is a snapshot on its way that rests on a former one.
type resting struct {
	m      core.Manifest
	former []core.Part // all of them objects
	plain  [][]byte    // their plain bytes
	next   []byte      // those of m's snapshot
}

// choose sets m's parts: the former ones and a change that m carries, where it is
// small; else as many of them as stand, and a change that is an object, which is
// returned, packed. m has no parts where it is to be written whole.
func (r *resting) choose() (object []byte, err error) {
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
	if n := standing(r.sizes(), p.Size); n < stay {
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

// put makes m's snapshot of the first of the former parts, the changes among them
// being that many, and p.
func (r *resting) put(changes int, p core.Part) {
	r.m.SetParts(append(slices.Clone(r.former[:changes+1]), p))
}

// since is what has come since the first of the former parts, the changes among
// them being that many. nil where a reader would not get the same bytes by it.
func (r *resting) since(changes int) []byte {
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

// sizes are those of the former changes.
func (r *resting) sizes() []int64 {
	var sizes []int64
	for _, p := range r.former[1:] {
		sizes = append(sizes, p.Size)
	}
	return sizes
}

// isRecord reports whether a record has room for m.
func isRecord(m *core.Manifest) bool {
	body, err := json.Marshal(m)
	return err == nil && len(body) <= stream.SpillSize
}

// compose returns what m's parts come to. The digest of that is not compared.
func (s *Snapshots) compose(ctx context.Context, m *core.Manifest) ([]byte, error) {
	return composeBy(ctx, m, func(ctx context.Context, p core.Part) ([]byte, error) {
		plain, checked, err := s.load(ctx, p)
		if err != nil {
			return nil, err
		}
		return plain, checked()
	})
}

// composeAnew is compose from what is stored, all of whose digests are compared.
func (s *Snapshots) composeAnew(ctx context.Context, m *core.Manifest) ([]byte, error) {
	return composeProved(ctx, m, s.read)
}

// composeProved returns what m's parts come to, whose digest was compared.
func composeProved(ctx context.Context, m *core.Manifest, read partReader) ([]byte, error) {
	plain, err := composeBy(ctx, m, read)
	if err == nil && core.DigestOf(plain) != m.SHA256 {
		return nil, damaged(m.Whole(), errOther)
	}
	return plain, err
}

// A partReader returns the plain bytes of an object, which are those of its part.
type partReader func(context.Context, core.Part) ([]byte, error)

func composeBy(ctx context.Context, m *core.Manifest, read partReader) ([]byte, error) {
	parts, err := readParts(ctx, m, m.Parts, read)
	if err != nil {
		return nil, err
	}
	plain, err := core.Patch(parts[0], parts[1:]...)
	if err == nil && int64(len(plain)) != m.Size {
		err = errOther
	}
	if err != nil {
		return nil, damaged(m.Whole(), err)
	}
	return plain, nil
}

// readParts returns the plain bytes of parts, which are m's or those that m is to
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
				plain[i], err = unpackProved(p.Inline, p)
			} else {
				plain[i], err = read(ctx, p)
			}
			return err
		})
	}
	return plain, g.Wait()
}

// checkParts returns core.ErrCorrupt where parts are none that a snapshot of m's
// session can have.
func checkParts(m *core.Manifest, parts []core.Part) error {
	if len(parts) == 0 || len(parts) > mostParts {
		return fmt.Errorf("snapshot %s is of %d parts, 1 to %d are allowed: %w", m.Object, len(parts), mostParts, core.ErrCorrupt)
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
