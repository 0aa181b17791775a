package admin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func blobsStatCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "stat [DIGEST]",
		Short: "Show facts about one blob, or about all",
		Long: `Shows a blob's size and time, whether the node has it in memory or on disk, and
which sessions use it. Only sessions in the node's memory are considered: others
may use the blob, too.

Without DIGEST: how many blobs there are, their total size, and how many writes
the node saved since it started because a blob already existed.

With -o json and DIGEST: one object with digest, size, modified, cached and
sessions. Without: blobs, bytes, and puts (written, writtenBytes, there,
thereBytes).`,
		Example: "sessctl blobs stat",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				ctx, cancel := a.Within(cmd, cli.Forever)
				defer cancel()
				return a.blobsTotals(ctx)
			}
			d, err := cli.ParseDigest(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd, cli.Short)
			defer cancel()
			return a.blobsStat(ctx, d)
		},
	}
}

func (a app) blobsStat(ctx context.Context, d core.Digest) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	b, err := node.BlobStat(ctx, d)
	if err != nil {
		return cli.Hintf(err, "list the blobs with: sessctl blobs ls")
	}
	b.Sessions = cli.NotNil(b.Sessions)
	return a.Print(b, func() error {
		g := a.NewGrid()
		g.Row("blob", b.Digest.String())
		g.Row("size", cli.Bytes(b.Size))
		g.Row("written", a.Time(b.Modified))
		if b.Cached {
			g.Row("cached", "yes")
		}
		for _, id := range b.Sessions {
			g.Row("named by", string(id))
		}
		return g.Flush()
	})
}

// blobTotals are the count and size of all blobs.
type blobTotals struct {
	Blobs int          `json:"blobs"`
	Bytes int64        `json:"bytes"`
	Puts  api.BlobPuts `json:"puts"`
}

func (a app) blobsTotals(ctx context.Context) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	status, err := node.Status(ctx)
	if err != nil {
		return err
	}
	t := blobTotals{Puts: status.BlobPuts}
	for b, err := range eachBlob(ctx, node, "") {
		if err != nil {
			return err
		}
		t.Blobs++
		t.Bytes += b.Size
	}
	return a.Print(t, func() error {
		g := a.NewGrid()
		g.Row("blobs", fmt.Sprintf("%s, %s", cli.Count(t.Blobs, "blob", "blobs"), cli.Bytes(t.Bytes)))
		g.Row("written", fmt.Sprintf("%s, %s, since the node began", cli.Count(int(t.Puts.Written), "blob", "blobs"), cli.Bytes(t.Puts.WrittenBytes)))
		g.Row("spared", fmt.Sprintf("%s, %s, that were unchanged", cli.Count(int(t.Puts.Existing), "blob", "blobs"), cli.Bytes(t.Puts.ExistingBytes)))
		return g.Flush()
	})
}

func blobsPutCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "put FILE",
		Short: "Store a file as a blob",
		Long: `Stores the bytes of a file under their digest, and prints the digest. An intact
blob that already exists is kept, a damaged one is replaced. So this repairs a
blob from another copy.

With -o json: one object with digest and bytes.`,
		Example: "sessctl blobs put picture.png",
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			return a.blobsPut(ctx, args[0])
		}),
	}
}

func (a app) blobsPut(ctx context.Context, path string) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	b, err := a.ReadBytes(ctx, path)
	if err != nil {
		return err
	}
	if err := node.PutBlob(ctx, b); err != nil {
		return err
	}
	d := core.DigestOf(b)
	return a.Print(struct {
		Digest core.Digest `json:"digest"`
		Bytes  int         `json:"bytes"`
	}{d, len(b)}, func() error { return a.Printf("%s  %s", d, cli.Bytes(int64(len(b)))) })
}
