package s3server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// iamDir returns the directory of additional accounts. The server uses it if it
// exists.
func (s *Server) iamDir() string { return filepath.Join(s.dir, "iam") }

// AddKeys adds accounts with no permissions except those in a bucket's policy. The
// access key of each is its name, the secret key is the name and "-secret". It
// restarts the server.
func (s *Server) AddKeys(ctx context.Context, names ...string) error {
	type account struct {
		Access string `json:"access"`
		Secret string `json:"secret"`
		Role   string `json:"role"`
	}
	accounts := map[string]account{}
	for _, name := range names {
		accounts[name] = account{name, name + "-secret", "user"}
	}
	b, err := json.Marshal(map[string]any{"accessAccounts": accounts})
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(s.iamDir(), 0o700), os.WriteFile(filepath.Join(s.iamDir(), "users.json"), b, 0o600)); err != nil {
		return err
	}
	return s.Restart(ctx)
}

// SetPolicy sets the S3 policy of a bucket.
func (s *Server) SetPolicy(ctx context.Context, bucket, policy string) error {
	c, err := s.Client(s.AccessKey, s.SecretKey)
	if err != nil {
		return err
	}
	if err := c.SetBucketPolicy(ctx, bucket, policy); err != nil {
		return fmt.Errorf("policy of bucket %s: %w", bucket, err)
	}
	return nil
}

// Client returns a client of the server with the given keys.
func (s *Server) Client(access, secret string) (*minio.Core, error) {
	h, err := s.httpClient()
	if err != nil {
		return nil, err
	}
	return minio.NewCore(s.addr, &minio.Options{
		Creds:     credentials.NewStaticV4(access, secret, ""),
		Secure:    true,
		Transport: h.Transport,
		Region:    s.Region,
	})
}
