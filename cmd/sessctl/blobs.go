package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func blobsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "blobs",
		Short: "List, fetch and collect blobs",
		Long:  "Blobs are images, bodies too large for a record, and files as they were imported,\neach kept once under its SHA-256.",
		Args:  cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("what about them: ls, get, or gc")
			}
			return usagef("there is no verb %q, only ls, get and gc", args[0])
		},
	}
	cmd.AddCommand(blobsLsCmd(a), blobsGetCmd(a), blobsGCCmd(a))
	return cmd
}

func blobsLsCmd(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List blobs",
		Long: `Lists the blobs that the node knows.

With -o json: a list with an object for each blob: digest, size and modified.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usagef("--limit %d is below 0", limit)
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.blobsLs(ctx, limit)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "list at most `N` blobs, 0 for all")
	return cmd
}

func (a *app) blobsLs(ctx context.Context, limit int) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	blobs, err := allBlobs(ctx, node, limit)
	if err != nil {
		return err
	}
	return a.print(notNil(blobs), func() error {
		g := a.newGrid()
		for _, b := range blobs {
			g.add(b.Digest.String(), bytesText(b.Size), a.when(b.Modified))
		}
		return g.flush()
	})
}

func allBlobs(ctx context.Context, node *api.Client, limit int) ([]api.BlobInfo, error) {
	var blobs []api.BlobInfo
	after := ""
	for {
		size := pageSize
		if limit > 0 {
			size = min(size, limit-len(blobs))
		}
		page, err := node.Blobs(ctx, after, size)
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, page.Blobs...)
		if page.Next == "" || page.Next == after || limit > 0 && len(blobs) >= limit {
			return blobs, nil
		}
		after = page.Next
	}
}

func blobsGetCmd(a *app) *cobra.Command {
	var o outFlags
	cmd := &cobra.Command{
		Use:   "get DIGEST",
		Short: "Fetch a blob",
		Long: `Fetches the bytes of a blob, and checks that they are those that its digest
names. DIGEST is sha256: and 64 hex digits, or these alone.

With -o json and --out: one object with path and bytes. Without --out the bytes
are printed, whatever -o says.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := parseDigest(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.blobsGet(ctx, d, o)
		},
	}
	o.add(cmd)
	return cmd
}

func (a *app) blobsGet(ctx context.Context, d core.Digest, o outFlags) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	body, err := node.Blob(ctx, d)
	if err != nil {
		return err
	}
	defer body.Close()
	return a.deliver(o, false, func(w io.Writer) error {
		h := sha256.New()
		if _, err := io.Copy(io.MultiWriter(w, h), answer{body}); err != nil {
			return err
		}
		if got := core.Digest(h.Sum(nil)); got != d {
			return fmt.Errorf("the bytes that came are %s, not %s: %w", got, d, core.ErrCorrupt)
		}
		return nil
	})
}
