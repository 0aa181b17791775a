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

const (
	// maxSentImages bounds how many images are remembered as sent.
	maxSentImages = 10_000
	// maxImage bounds an image, in bytes.
	maxImage = 64 << 20
)

var imageRef = regexp.MustCompile(`"blob:(sha256:[0-9a-f]{64})"`)

// A sentImages remembers which images were recently sent to the node, or reported
// as missing.
type sentImages struct {
	mu   sync.Mutex
	done map[core.Digest]bool
}

// sendImages sends the images that lines refer to and that their agent keeps in a
// directory. A missing image is reported, and the line keeps its reference.
func (fl *Follower) sendImages(ctx context.Context, f *file, d core.Dialect, lines []byte) error {
	dir := imageDir(f, d)
	if dir == "" || !bytes.Contains(lines, []byte(`"blob:sha256:`)) {
		return nil
	}
	var missing []core.Digest
	for _, digest := range ImageRefs(lines) {
		if fl.images.has(digest) {
			continue
		}
		img, err := ReadImage(dir, digest)
		if err != nil {
			missing = append(missing, digest)
		} else if err := fl.cfg.Node.PutBlob(ctx, img); err != nil {
			return err
		}
		fl.images.add(digest)
	}
	if len(missing) > 0 {
		what := "is"
		if len(missing) > 1 {
			what = "are"
		}
		fl.notify(Notice{Kind: NoImage, Path: f.path, Session: f.place.Session, Text: fmt.Sprintf(
			"%s that %s refers to %s not in %s, the first is %s; the lines keep their references", count(len(missing), "image"), f.path, what, dir, missing[0])})
	}
	return nil
}

// imageDir returns the directory where the agent of d keeps the images of f, empty
// if it keeps none.
func imageDir(f *file, d core.Dialect) string {
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

// ImageRefs returns the images that lines refer to, in order, with repetitions.
func ImageRefs(lines []byte) (refs []core.Digest) {
	for _, match := range imageRef.FindAllSubmatch(lines, -1) {
		if d, err := core.ParseDigest(string(match[1])); err == nil {
			refs = append(refs, d)
		}
	}
	return refs
}

// ImageName returns the name of an image's file in an agent's directory.
func ImageName(d core.Digest) string { return d.String()[len("sha256:"):] }

// ReadImage reads an image from an agent's directory. If its content does not match
// d, or has more than 64 MiB, the error is core.ErrCorrupt.
func ReadImage(dir string, d core.Digest) ([]byte, error) {
	h, err := os.Open(filepath.Join(dir, ImageName(d)))
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return CheckImage(h, d)
}

// CheckImage reads an image. Its errors are those of ReadImage.
func CheckImage(r io.Reader, d core.Digest) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxImage+1))
	if err == nil && (len(b) > maxImage || core.DigestOf(b) != d) {
		err = core.ErrCorrupt
	}
	return b, err
}

func (i *sentImages) has(d core.Digest) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.done[d]
}

func (i *sentImages) add(d core.Digest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.done == nil || len(i.done) >= maxSentImages {
		i.done = map[core.Digest]bool{}
	}
	i.done[d] = true
}
