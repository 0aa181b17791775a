package snapshot

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/core"
)

const (
	// MaxInline is the largest plain size of a change that is kept in the manifest.
	// It needs no object, and the record stays small enough not to become a blob.
	MaxInline = 128 << 10
	// MaxParts limits the objects from which a snapshot is read.
	MaxParts = 48
	// partsAtOnce limits concurrent reads of parts.
	partsAtOnce = 8
	// maxKey and maxSegment limit the bytes of a key, and of what is between two
	// slashes, as package blobstore does.
	maxKey     = 512
	maxSegment = 255
)

// ComposeVerified returns the bytes of m's parts after comparing their digest.
func ComposeVerified(ctx context.Context, m *core.Manifest, read PartReader) ([]byte, error) {
	plain, err := Compose(ctx, m, read)
	if err == nil && core.DigestOf(plain) != m.SHA256 {
		return nil, Corrupt(m.Whole(), ErrDifferent)
	}
	return plain, err
}

// A PartReader returns the plain bytes of an object.
type PartReader func(context.Context, core.Part) ([]byte, error)

// Compose returns the bytes of m's parts. It does not compare their digest.
func Compose(ctx context.Context, m *core.Manifest, read PartReader) ([]byte, error) {
	parts, err := ReadParts(ctx, m, m.Parts, read)
	if err != nil {
		return nil, err
	}
	plain, err := Patch(parts[0], parts[1:]...)
	if err == nil && int64(len(plain)) != m.Size {
		err = ErrDifferent
	}
	if err != nil {
		return nil, Corrupt(m.Whole(), err)
	}
	return plain, nil
}

// ReadParts returns the plain bytes of parts, which are m's or those that m will
// rest on.
func ReadParts(ctx context.Context, m *core.Manifest, parts []core.Part, read PartReader) ([][]byte, error) {
	if err := checkParts(m, parts); err != nil {
		return nil, err
	}
	plain := make([][]byte, len(parts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(partsAtOnce)
	for i, p := range parts {
		g.Go(func() (err error) {
			if p.Object == "" {
				plain[i], err = UnpackVerified(p.Inline, p)
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
	if len(parts) == 0 || len(parts) > MaxParts {
		return fmt.Errorf("snapshot %s has %d parts, 1 to %d are allowed: %w", m.Object, len(parts), MaxParts, core.ErrCorrupt)
	}
	prefix := Prefix(m.Log, m.Session)
	for i, p := range parts {
		isInline := p.Object == "" && i == len(parts)-1 && i > 0 && p.Size <= MaxInline
		isObject := strings.HasPrefix(p.Object, prefix) && isKey(p.Object)
		if p.Size < 0 || !isInline && !isObject {
			return fmt.Errorf("snapshot %s has a part %d of %d bytes at %q: %w", m.Object, i+1, p.Size, p.Object, core.ErrCorrupt)
		}
	}
	return nil
}

// PackFrom returns a snapshot of several parts as one object. object returns a
// stored object that m names; its errors are passed on. PackFrom returns
// core.ErrCorrupt if the objects are not what m names.
func PackFrom(ctx context.Context, m *core.Manifest, object func(ctx context.Context, key string) ([]byte, error)) ([]byte, error) {
	plain, err := ComposeVerified(ctx, m, func(ctx context.Context, p core.Part) ([]byte, error) {
		packed, err := object(ctx, p.Object)
		if err != nil {
			return nil, err
		}
		return UnpackVerified(packed, p)
	})
	if err != nil {
		return nil, err
	}
	return Pack(plain)
}

const keyChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./"

// isKey reports whether key can name an object in a blob store.
func isKey(key string) bool {
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return !strings.ContainsRune(keyChars, r) }) {
		return false
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || len(segment) > maxSegment || segment[0] == '.' {
			return false
		}
	}
	return true
}
