package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// Some agents keep images in a folder of their own machine and write only
// their hashes into the session. What a session refers to goes to the node
// with it, and comes back where it is resumed.

// imageStore is the folder where the agent of a dialect keeps images, empty
// for an agent that has none, or where given says.
func (a *app) imageStore(name, given string) (string, error) {
	d, err := dialect.Named(name)
	if err != nil || d.ImageStore() == "" || given != "" {
		return given, nil // a node may know a dialect that this program does not
	}
	dir, err := a.agentDataDir(name, "")
	return filepath.Join(dir, d.ImageStore()), err
}

var imageRef = regexp.MustCompile(`"blob:(sha256:[0-9a-f]{64})"`)

// refsIn returns the images that lines refer to, each once, in order.
func refsIn(lines io.Reader) ([]core.Digest, error) {
	var refs []core.Digest
	seen := map[core.Digest]bool{}
	r := bufio.NewReaderSize(lines, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		for _, m := range imageRef.FindAllSubmatch(line, -1) {
			d, bad := core.ParseDigest(string(m[1]))
			if bad == nil && !seen[d] {
				seen[d] = true
				refs = append(refs, d)
			}
		}
		if err == io.EOF {
			return refs, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// maxImage is how large an image of an agent's store may be.
const maxImage = 64 << 20

// bringImages sends the images that a file refers to ahead of it, and says which
// its agent's store has not. From standard input, which cannot be read twice,
// none are sent.
func (a *app) bringImages(ctx context.Context, node *api.Client, name, dialectName, given string) (missing []core.Digest, store string, err error) {
	store, err = a.imageStore(dialectName, given)
	if err != nil || store == "" || name == "-" || a.dry {
		return nil, store, err
	}
	missing, err = a.sendImages(ctx, node, name, store)
	return missing, store, err
}

// sendImages brings the images that the file at name refers to to the node. It
// returns which the store has not, or has not as their hash says.
func (a *app) sendImages(ctx context.Context, node *api.Client, name, store string) (missing []core.Digest, err error) {
	f, _, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	refs, err := refsIn(f)
	if err != nil {
		return nil, err
	}
	for _, d := range refs {
		b, err := readImage(store, d)
		if err != nil {
			missing = append(missing, d)
			continue
		}
		if err := sendBlob(ctx, node, b); err != nil {
			return missing, err
		}
	}
	return missing, nil
}

func sendBlob(ctx context.Context, node *api.Client, b []byte) error {
	if len(b) >= inPartsFrom {
		if err := node.PutLargeBlob(ctx, api.LargeBytes(b)); !errors.Is(err, api.ErrNoParts) {
			return err
		}
	}
	return node.PutBlob(ctx, b)
}

func readImage(store string, d core.Digest) ([]byte, error) {
	f, err := os.Open(filepath.Join(store, hexOf(d)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	if err == nil && (len(b) > maxImage || core.DigestOf(b) != d) {
		err = core.ErrCorrupt
	}
	return b, err
}

// fetchImages puts the images that the file at name refers to into the agent's
// store, as far as the node has them. It returns which it has not.
func (a *app) fetchImages(ctx context.Context, node *api.Client, name, store string) (missing []core.Digest, err error) {
	f, _, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	refs, err := refsIn(f)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	if err := makeDir(store); err != nil {
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

func fetchImage(ctx context.Context, node *api.Client, d core.Digest, store string) error {
	path := filepath.Join(store, hexOf(d))
	if fileExists(path) {
		return nil
	}
	body, err := node.Blob(ctx, d)
	if err != nil {
		return err
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, maxImage+1))
	if err != nil {
		return err
	}
	if core.DigestOf(b) != d {
		return core.ErrCorrupt
	}
	return writeFile(path, false, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// hexOf is how an agent's store names the file of d.
func hexOf(d core.Digest) string { return d.String()[len("sha256:"):] }

// noteImages tells people of images that were not found.
func (a *app) noteImages(missing []core.Digest, where string) {
	switch len(missing) {
	case 0:
	case 1:
		a.notef("image %s is not in %s, the session keeps the reference", missing[0], where)
	default:
		a.notef("%d images are not in %s, the session keeps the references; the first is %s", len(missing), where, missing[0])
	}
}

// placeImages puts the images that a file refers to where its agent keeps them.
func (a *app) placeImages(ctx context.Context, node *api.Client, path, dialectName, given string) error {
	store, err := a.imageStore(dialectName, given)
	if err != nil || store == "" {
		return err
	}
	missing, err := a.fetchImages(ctx, node, path, store)
	if err != nil {
		return err
	}
	a.noteImages(missing, "the log")
	return nil
}
