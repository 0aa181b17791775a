package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// inPartsFrom is how many bytes a file has at least that is sent in parts: less
// is sent again as quickly as it is asked how far it came.
const inPartsFrom = 8 << 20

// An outgoing is a file on its way to a node: its beginning, which may be all of
// it, and the rest. Its size is -1 where only reading tells.
type outgoing struct {
	name  string
	start []byte
	rest  io.Reader
	size  int64
}

// sendFile imports a file, in parts where it is large.
func sendFile(ctx context.Context, node *client.Client, f outgoing, o client.ImportOptions, bar *progress) (api.Imported, error) {
	if f.size >= inPartsFrom {
		done, err := sendLarge(ctx, node, f, o, bar)
		if !errors.Is(err, client.ErrNoParts) {
			return done, err
		}
	}
	whole := io.Reader(bytes.NewReader(f.start)) // which can be sent again, to another node
	if int64(len(f.start)) != f.size {
		whole = io.MultiReader(whole, f.rest)
	}
	return node.Import(ctx, counting(whole, bar.sent), f.size, o)
}

func sendLarge(ctx context.Context, node *client.Client, f outgoing, o client.ImportOptions, bar *progress) (api.Imported, error) {
	large := client.LargeBytes(f.start)
	if int64(len(f.start)) != f.size {
		file, _, err := openFile(f.name) // rest is read once, and may still be asked for
		if err != nil {
			return api.Imported{}, err
		}
		defer file.Close()
		if large, err = digested(file, f.size); err != nil {
			return api.Imported{}, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	large.Sent = bar.sent
	large.Moved = func(from, to string) {
		bar.note("the node at %s is gone: %s is sent to %s, from its beginning", from, title(f.name), to)
	}
	return node.ImportLarge(ctx, large, o)
}

// digested is the first size bytes of file, to be sent in parts.
func digested(file io.ReaderAt, size int64) (client.Large, error) {
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(file, 0, size))
	if err == nil && n < size {
		err = fmt.Errorf("it has become shorter while it was read: %w", core.ErrConflict)
	}
	return client.Large{Bytes: file, Size: size, SHA256: core.Digest(h.Sum(nil))}, err
}
