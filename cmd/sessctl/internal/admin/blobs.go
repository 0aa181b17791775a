package admin

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func blobsCmd(a app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "blobs",
		Short: "List, fetch, verify and collect blobs",
		Long: `Blobs are images, bodies that are too large for a record, and files as they were
imported. Each is stored once, under its SHA-256.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no verb given: ls, stat, get, put, verify or gc")
			}
			return cli.Usagef("unknown verb %.128q: use ls, stat, get, put, verify or gc", args[0])
		},
	}
	cmd.AddCommand(blobsLsCmd(a), blobsStatCmd(a), blobsGetCmd(a), blobsPutCmd(a), blobsVerifyCmd(a), blobsGCCmd(a))
	return cmd
}

func blobsLsCmd(a app) *cobra.Command {
	var f blobsLsFlags
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List blobs",
		Long: `Lists the blobs in the object store, ordered by digest, and their total size. If
--limit cuts the list, --after continues it.

With -o json: a list with an object for each blob: digest, size and modified.`,
		Example: `sessctl blobs ls
sessctl blobs ls --limit 100`,
		Args: cobra.NoArgs,
		RunE: a.Run(cli.Forever, func(ctx context.Context, _ []string) error {
			if f.limit < 0 {
				return cli.Usagef("--limit %d is below 0", f.limit)
			}
			if err := f.from.check(); err != nil {
				return err
			}
			return a.blobsLs(ctx, f)
		}),
	}
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 0, "list at most `N` blobs, 0 for all")
	f.from.add(cmd)
	return cmd
}

type blobsLsFlags struct {
	limit int
	from  fromFlag
}

// fromFlag is the digest after which a listing of blobs begins.
type fromFlag struct{ after string }

func (f *fromFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.after, "after", "", "begin after this `DIGEST`")
}

func (f *fromFlag) check() error {
	if f.after == "" {
		return nil
	}
	d, err := cli.ParseDigest(f.after)
	f.after = d.String()
	return err
}

func (a app) blobsLs(ctx context.Context, f blobsLsFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	blobs, sum, more := []api.BlobInfo{}, int64(0), false
	for b, err := range eachBlob(ctx, node, f.from.after) {
		if err != nil {
			return err
		}
		if more = f.limit > 0 && len(blobs) == f.limit; more {
			break
		}
		blobs, sum = append(blobs, b), sum+b.Size
	}
	return a.Print(blobs, func() error {
		g := a.NewGrid()
		for _, b := range blobs {
			g.Row(b.Digest.String(), cli.Bytes(b.Size), a.Time(b.Modified))
		}
		if err := g.Flush(); err != nil {
			return err
		}
		a.Notef("%s, %s", cli.Count(len(blobs), "blob", "blobs"), cli.Bytes(sum))
		if more {
			a.Notef("there are more: --after %s", blobs[len(blobs)-1].Digest)
		}
		return nil
	})
}

// eachBlob yields the blobs after a digest, in the order of digests. An error is
// yielded once, at the end.
func eachBlob(ctx context.Context, node *client.Client, after string) iter.Seq2[api.BlobInfo, error] {
	return func(yield func(api.BlobInfo, error) bool) {
		for {
			page, err := node.Blobs(ctx, after, cli.PageSize)
			if err != nil {
				yield(api.BlobInfo{}, err)
				return
			}
			for _, b := range page.Blobs {
				if !yield(b, nil) {
					return
				}
			}
			if page.Next == "" || page.Next <= after {
				return
			}
			after = page.Next
		}
	}
}

func blobsGetCmd(a app) *cobra.Command {
	var o cli.OutFlags
	cmd := &cobra.Command{
		Use:   "get DIGEST",
		Short: "Fetch a blob",
		Long: `Fetches the bytes of a blob and verifies them. DIGEST is sha256: and 64 hex
digits, or only the digits.

With -o json and --out: one object with path and bytes. Without --out the bytes
are printed, whatever -o says.`,
		Example: "sessctl blobs get \"$DIGEST\" --out picture.png",
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			d, err := cli.ParseDigest(args[0])
			if err != nil {
				return err
			}
			return a.blobsGet(ctx, d, o)
		}),
	}
	o.Add(cmd)
	return cmd
}

func (a app) blobsGet(ctx context.Context, d core.Digest, o cli.OutFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	body, err := node.Blob(ctx, d)
	if err != nil {
		return err
	}
	defer body.Close()
	return a.Deliver(o, false, func(w io.Writer) error {
		h := sha256.New()
		if _, err := io.Copy(io.MultiWriter(w, h), cli.Answer{Reader: body}); err != nil {
			return err
		}
		if got := core.Digest(h.Sum(nil)); got != d {
			return fmt.Errorf("the node sent %s, not %s: %w", got, d, core.ErrCorrupt)
		}
		return nil
	})
}
