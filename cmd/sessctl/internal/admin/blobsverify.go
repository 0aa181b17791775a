package admin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

func blobsVerifyCmd(a app) *cobra.Command {
	f := blobsVerifyFlags{share: 1}
	cmd := &cobra.Command{
		Use:   "verify [DIGEST...]",
		Short: "Check that blobs match their digests",
		Long: `The node reads blobs from the object store, without its caches, and compares them
with their digests: the blobs that are named, or all, or with --sample a share of
them. Each blob that is damaged or missing is listed. The exit code is 8 if any
are left.

A sample depends only on the digests and on --seed: the same seed selects the same
blobs. The seed is printed.

--repair writes a damaged blob again if the node that is asked has an intact copy
in memory or on its disk; ask each node in turn. To get back a blob that no node
has, import a file that contains it (import --again), or use sessctl blobs put.

With -o json: one object per line for each blob that is or was not intact:
digest, state (damaged, missing, or sound if it was repaired), detail, repaired and
next. The last line is an object with blobs (how many were listed), verified,
bytes, seed, wrong and repaired.`,
		Example: `sessctl blobs verify --sample 5%
sessctl blobs verify --repair`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			return a.blobsVerify(ctx, f)
		},
	}
	cmd.Flags().Var(&f.share, "sample", "verify this `SHARE` of the blobs, such as 5%")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "select the sample with the seed `N` (default random)")
	cmd.Flags().BoolVar(&f.repair, "repair", false, "write damaged blobs again that the node has a copy of")
	f.from.add(cmd)
	return cmd
}

type blobsVerifyFlags struct {
	share  share
	seed   uint64
	repair bool
	from   fromFlag
	named  []core.Digest
}

func (f *blobsVerifyFlags) check(cmd *cobra.Command, args []string) error {
	changed := cmd.Flags().Changed
	if len(args) > 0 && (changed("sample") || changed("seed") || changed("after")) {
		return cli.Usagef("blobs exclude --sample, --seed and --after")
	}
	if changed("seed") && !changed("sample") {
		return cli.Usagef("--seed requires --sample")
	}
	if !changed("seed") {
		f.seed = rand.Uint64()
	}
	for _, arg := range args {
		d, err := cli.ParseDigest(arg)
		if err != nil {
			return err
		}
		f.named = append(f.named, d)
	}
	return f.from.check()
}

// chooses reports whether the blob d is in the sample.
func (f *blobsVerifyFlags) chooses(d core.Digest) bool {
	r := rand.New(rand.NewPCG(f.seed, binary.BigEndian.Uint64(d[:])))
	return r.Float64() < float64(f.share)
}

// A share is a fraction above 0 and up to 1, written as "5%" or "0.05".
type share float64

func (s *share) String() string { return strconv.FormatFloat(100*float64(*s), 'g', -1, 64) + "%" }
func (s *share) Type() string   { return "share" }

func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 1) {
		return errors.New("write it like 5%, above 0% and up to 100%")
	}
	*s = share(v)
	return nil
}

// blobsTally is the result of blobs verify.
type blobsTally struct {
	Blobs    int    `json:"blobs"`
	Verified int    `json:"verified"`
	Bytes    int64  `json:"bytes"` // sum of the listed sizes
	Seed     uint64 `json:"seed"`
	Wrong    int    `json:"wrong"` // and not repaired
	Repaired int    `json:"repaired"`
}

func (a app) blobsVerify(ctx context.Context, f blobsVerifyFlags) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	t := blobsTally{Seed: f.seed}
	if len(f.named) > 0 {
		t.Blobs = len(f.named)
		err = a.verifyBlobs(ctx, node, f.named, f, &t)
	} else {
		err = a.verifyPages(ctx, node, f, &t)
	}
	if err != nil {
		return err
	}
	if err := a.Print(t, func() error { return a.printBlobsTally(t, f) }); err != nil {
		return err
	}
	if t.Wrong == 0 {
		return nil
	}
	next := "write again what the node has a copy of, with: --repair"
	if f.repair {
		next = "ask the other nodes, too; else import files again that have these blobs: sessctl import --again FILE, or: sessctl blobs put FILE"
	}
	return cli.Hintf(fmt.Errorf("%s damaged or missing%w", cli.Count(t.Wrong, "blob is", "blobs are"), hint.Silent(core.ErrCorrupt)), "%s", next)
}

func (a app) printBlobsTally(t blobsTally, f blobsVerifyFlags) error {
	text := fmt.Sprintf("%s of %d verified", cli.Count(t.Verified, "blob", "blobs"), t.Blobs)
	if len(f.named) == 0 {
		text += ", " + cli.Bytes(t.Bytes)
	}
	if f.share < 1 {
		text += fmt.Sprintf(", sample %s, seed %d", f.share.String(), t.Seed)
	}
	if t.Repaired > 0 {
		text += fmt.Sprintf(", %d repaired", t.Repaired)
	}
	if t.Wrong == 0 {
		return a.Printf("%s: all is well", text)
	}
	return a.Printf("%s: %d not sound", text, t.Wrong)
}

// verifyPages verifies the sample, page by page of the listing.
func (a app) verifyPages(ctx context.Context, node *client.Client, f blobsVerifyFlags, t *blobsTally) error {
	after := f.from.after
	bar := a.NewProgress("verifying blobs")
	defer bar.End()
	for {
		bar.Step(t.Verified, 0)
		page, err := node.Blobs(ctx, after, cli.PageSize)
		if err == nil {
			var chosen []core.Digest
			for _, b := range page.Blobs {
				t.Blobs++
				if f.chooses(b.Digest) {
					chosen = append(chosen, b.Digest)
					t.Bytes += b.Size
				}
			}
			err = a.verifyBlobs(ctx, node, chosen, f, t)
		}
		switch {
		case err != nil && after != "":
			return cli.Hintf(err, "continue with: --after %s%s", after, f.sameSample())
		case err != nil:
			return err
		case page.Next == "" || page.Next <= after:
			return nil
		}
		after = page.Next
	}
}

func (f *blobsVerifyFlags) sameSample() string {
	if f.share == 1 {
		return ""
	}
	return fmt.Sprintf(" --sample %s --seed %d", f.share.String(), f.seed)
}

// atOnce is how many blobs are verified concurrently.
const atOnce = 4

// verifyBlobs verifies ds and prints the damaged and repaired blobs in their order.
func (a app) verifyBlobs(ctx context.Context, node *client.Client, ds []core.Digest, f blobsVerifyFlags, t *blobsTally) error {
	look := node.VerifyBlob
	if f.repair {
		look = node.RepairBlob
	}
	reports := make([]api.BlobReport, len(ds))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, d := range ds {
		g.Go(func() (err error) {
			reports[i], err = look(ctx, d)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, r := range reports {
		t.Verified++
		switch {
		case r.Repaired:
			t.Repaired++
		case r.State != api.BlobSound:
			t.Wrong++
		default:
			continue
		}
		if err := a.printBlobReport(r); err != nil {
			return err
		}
	}
	return nil
}

func (a app) printBlobReport(r api.BlobReport) error {
	return a.Print(r, func() error {
		if r.Repaired {
			return a.Printf("%s  repaired, it was: %s", r.Digest, cli.Plain(r.Detail))
		}
		err := a.Printf("%s  %s: %s", r.Digest, cli.Plain(string(r.State)), cli.Plain(r.Detail))
		return errors.Join(err, a.Printf("  hint: %s", cli.Plain(r.Next)))
	})
}
