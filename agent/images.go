package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/atomicfile"
)

// Some agents keep images in a directory of their host and write only the hashes
// into the session. The images go to the node with the session, and back to the
// directory where it is resumed.

// ImageStore returns the directory where the agent of a dialect keeps images:
// given, unless it is empty. It is empty if the agent has none.
func (h *Host) ImageStore(name, given string) (string, error) {
	d, err := dialect.Named(name)
	if err != nil || d.ImageStore() == "" || given != "" {
		return given, nil // the node may know more dialects than this program
	}
	dir, err := h.dataDir(name, "")
	return filepath.Join(dir, d.ImageStore()), err
}

// SendImages sends the images that the file at name refers to from store to the
// node. It returns those that are not intact in store.
func SendImages(ctx context.Context, node Node, name, store string) (missing []core.Digest, err error) {
	refs, err := refsInFile(name)
	if err != nil {
		return nil, err
	}
	for _, d := range refs {
		b, err := follow.ReadImage(store, d)
		if err != nil {
			missing = append(missing, d)
			continue
		}
		if err := sendImage(ctx, node, b); err != nil {
			return missing, err
		}
	}
	return missing, nil
}

// largeImage is the size in bytes from which an image is sent in parts.
const largeImage = 8 << 20

func sendImage(ctx context.Context, node Node, b []byte) error {
	if len(b) >= largeImage {
		return node.PutLargeBlob(ctx, b)
	}
	return node.PutBlob(ctx, b)
}

// NoteImages tells the user which images were not found in the store, or in the
// log.
func (h *Host) NoteImages(missing []core.Digest, where string) {
	switch len(missing) {
	case 0:
	case 1:
		h.notef("image %s is not in %s; the session keeps the reference", missing[0], where)
	default:
		h.notef("%d images are not in %s; the session keeps the references; the first is %s", len(missing), where, missing[0])
	}
}

// refsInFile returns the images that a file refers to, each once, in order.
func refsInFile(name string) ([]core.Digest, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var refs []core.Digest
	seen := map[core.Digest]bool{}
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		for _, d := range follow.ImageRefs(line) {
			if !seen[d] {
				seen[d] = true
				refs = append(refs, d)
			}
		}
		if err == io.EOF {
			return refs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

// placeImages writes the images that a file refers to where its agent keeps them.
func (r *resumer) placeImages(ctx context.Context, name, dialect string) error {
	store, err := r.host.ImageStore(dialect, r.o.Images)
	if err != nil || store == "" {
		return err
	}
	missing, err := fetchImages(ctx, r.node, name, store)
	if err != nil {
		return err
	}
	r.host.NoteImages(missing, "the log")
	return nil
}

// fetchImages writes the images that the file at name refers to into store. It
// returns those that the node does not have.
func fetchImages(ctx context.Context, node Node, name, store string) (missing []core.Digest, err error) {
	refs, err := refsInFile(name)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	if err := atomicfile.MkdirAll(store); err != nil {
		return nil, err
	}
	for _, d := range refs {
		err := fetchImage(ctx, node, d, store)
		if errors.Is(err, core.ErrNotFound) {
			missing = append(missing, d)
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return missing, err
		}
	}
	return missing, nil
}

func fetchImage(ctx context.Context, node Node, d core.Digest, store string) error {
	path := filepath.Join(store, follow.ImageName(d))
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	body, err := node.Blob(ctx, d)
	if err != nil {
		return err
	}
	defer body.Close()
	b, err := follow.CheckImage(body, d)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, false, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
