package follow

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/sesslog/sesslog/core"
)

// images remembers which images were brought to the node lately.
type images struct {
	mu   sync.Mutex
	done map[core.Digest]bool
}

// maxImages bounds that memory, and maxImage an image's bytes.
const (
	maxImages = 10_000
	maxImage  = 64 << 20
)

var imageRef = regexp.MustCompile(`"blob:(sha256:[0-9a-f]{64})"`)

// bringImages sends the images that lines refer to and that their agent keeps in
// a folder of its own. One that is not there is told, and the line keeps its
// reference.
func (b *Follower) bringImages(ctx context.Context, f *file, d core.Dialect, lines []byte) error {
	dir := b.imageStore(f, d)
	if dir == "" || !bytes.Contains(lines, []byte(`"blob:sha256:`)) {
		return nil
	}
	missing := 0
	var first core.Digest
	for _, match := range imageRef.FindAllSubmatch(lines, -1) {
		digest, err := core.ParseDigest(string(match[1]))
		if err != nil || b.images.has(digest) {
			continue
		}
		img, err := readImage(dir, digest)
		if err != nil {
			if missing++; missing == 1 {
				first = digest
			}
			b.images.add(digest) // told once
			continue
		}
		if err := b.cfg.Node.PutBlob(ctx, img); err != nil {
			return err
		}
		b.images.add(digest)
	}
	if missing > 0 {
		b.notify(Notice{Kind: NoImage, Path: f.path, Session: f.place.Session, Text: fmt.Sprintf(
			"%s that %s refers to %s not in %s, the first is %s; the lines keep their references", count(missing, "image"), f.path, plural(missing, "is", "are"), dir, first)})
	}
	return nil
}

// imageStore is the folder where the agent of d keeps the images of f.
func (b *Follower) imageStore(f *file, d core.Dialect) string {
	if d.ImageStore() == "" || f.root == nil {
		return ""
	}
	if f.root.Images != "" {
		return f.root.Images
	}
	for dir := filepath.Dir(f.path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "sessions" {
			return filepath.Join(filepath.Dir(dir), d.ImageStore())
		}
	}
	return filepath.Join(filepath.Dir(f.root.Path), d.ImageStore())
}

func readImage(dir string, d core.Digest) ([]byte, error) {
	h, err := os.Open(filepath.Join(dir, d.String()[len("sha256:"):]))
	if err != nil {
		return nil, err
	}
	defer h.Close()
	b, err := io.ReadAll(io.LimitReader(h, maxImage+1))
	if err == nil && (len(b) > maxImage || core.DigestOf(b) != d) {
		err = core.ErrCorrupt
	}
	return b, err
}

func (i *images) has(d core.Digest) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.done[d]
}

func (i *images) add(d core.Digest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.done == nil || len(i.done) >= maxImages {
		i.done = map[core.Digest]bool{}
	}
	i.done[d] = true
}
