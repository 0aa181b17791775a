package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/blobstore/s3blob"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

const targetHelp = `TARGET is a directory, or s3://BUCKET/PREFIX. Credentials for S3 are found
as by AWS tools: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the shared
credentials file, or a role. Server, region and certificate authority come from
the flags or from AWS_ENDPOINT_URL, AWS_REGION and AWS_CA_BUNDLE.`

// targetFlags are the settings of an S3 server.
type targetFlags struct {
	endpoint, region, ca string
	pathStyle            bool
}

func (f *targetFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.endpoint, "s3-endpoint", "", "the `URL` of the S3 server (AWS_ENDPOINT_URL; default Amazon's)")
	cmd.Flags().StringVar(&f.region, "s3-region", "", "the bucket's `REGION` (AWS_REGION)")
	cmd.Flags().StringVar(&f.ca, "s3-ca", "", "also trust the certificate authorities in `FILE` (AWS_CA_BUNDLE)")
	cmd.Flags().BoolVar(&f.pathStyle, "s3-path-style", false, "put the bucket name into the path instead of the host name")
}

// A target is an open repository of backups.
type target struct {
	*backup.Repo
	closer io.Closer
}

func (t target) Close() { _ = t.closer.Close() }

// openTarget opens the target where. It creates a directory only for writes.
func (a app) openTarget(ctx context.Context, where string, f targetFlags, write bool) (target, error) {
	if rest, ok := strings.CutPrefix(where, "s3://"); ok {
		return a.openS3(ctx, rest, f)
	}
	if u, err := url.Parse(where); err == nil && u.Scheme != "" && u.Host != "" {
		return target{}, cli.Usagef("%s is not a target: use a directory or s3://BUCKET/PREFIX", where)
	}
	if !write {
		if err := isTargetDirectory(where); err != nil {
			return target{}, err
		}
	}
	b, err := fsblob.Open(where)
	if err != nil {
		return target{}, err
	}
	return target{backup.NewRepo(b), b}, nil
}

func (a app) openS3(ctx context.Context, where string, f targetFlags) (target, error) {
	bucket, prefix, _ := strings.Cut(where, "/")
	region := cmp.Or(f.region, a.Env("AWS_REGION"), a.Env("AWS_DEFAULT_REGION"))
	cfg := s3blob.Config{
		Endpoint: cmp.Or(f.endpoint, a.Env("AWS_ENDPOINT_URL_S3"), a.Env("AWS_ENDPOINT_URL"), amazon(region)),
		Region:   region,
		Bucket:   bucket, Prefix: strings.Trim(prefix, "/"), PathStyle: f.pathStyle,
		CAFile: cmp.Or(f.ca, a.Env("AWS_CA_BUNDLE")),
	}
	b, err := s3blob.New(cfg)
	if err != nil {
		return target{}, cli.Usagef("s3://%s: %v", where, err)
	}
	if err := b.Ready(ctx); err != nil {
		_ = b.Close()
		if errors.Is(err, blobstore.ErrUnavailable) || errors.Is(err, blobstore.ErrRefused) {
			// The cause, such as a missing file of keys, must not select the exit code: only
			// its text is kept.
			return target{}, fmt.Errorf("%v%w", err, hint.Silent(core.ErrUnavailable))
		}
		return target{}, err
	}
	return target{backup.NewRepo(b), b}, nil
}

// amazon returns the URL of Amazon S3.
func amazon(region string) string {
	if region == "" {
		return "https://s3.amazonaws.com"
	}
	return "https://s3." + region + ".amazonaws.com"
}

// isTargetDirectory returns an error if path is not a directory.
func isTargetDirectory(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Hintf(fmt.Errorf("no such directory: %s%w", path, hint.Silent(fs.ErrNotExist)), "name the directory of the backup, or s3://BUCKET/PREFIX")
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory: %w", path, core.ErrInvalid)
	}
	return nil
}
