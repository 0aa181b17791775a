package write

import (
	"bytes"
	"context"
	"io"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// inPartsFrom is the size from which a file is sent in parts. A smaller file is
// sent again at once if its connection breaks.
const inPartsFrom = 8 << 20

// An outgoing is a file to send: its beginning, which can be all of it, and the
// rest. Its size is -1 if it is unknown.
type outgoing struct {
	name  string
	start []byte
	rest  io.Reader
	size  int64
}

// sendFile imports a file, in parts if it is large.
func sendFile(ctx context.Context, node *client.Client, f outgoing, o client.ImportOptions, bar *importProgress) (api.Imported, error) {
	if f.size >= inPartsFrom {
		return sendLarge(ctx, node, f, o, bar)
	}
	whole := io.Reader(bytes.NewReader(f.start)) // which can be sent again, to another node
	if int64(len(f.start)) != f.size {
		whole = io.MultiReader(whole, f.rest)
	}
	return node.Import(ctx, counting(whole, bar.sent), f.size, o)
}

func sendLarge(ctx context.Context, node *client.Client, f outgoing, o client.ImportOptions, bar *importProgress) (api.Imported, error) {
	large := client.LargeBytes(f.start)
	if int64(len(f.start)) != f.size {
		file, _, err := cli.OpenFile(f.name) // the parts are read twice, rest only once
		if err != nil {
			return api.Imported{}, err
		}
		defer file.Close()
		large = client.Large{Bytes: file, Size: f.size}
	}
	large.Sent = bar.sent
	return node.ImportLarge(ctx, large, o)
}
