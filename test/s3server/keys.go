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

// iamDir is where the server keeps accounts besides its own; it has any only
// where the directory is there.
func (s *Server) iamDir() string { return filepath.Join(s.dir, "iam") }

// AddKeys gives the server accounts that may do nothing but what a bucket's
// policy says. The access key of each is its name, and so is the secret key with
// "-secret" behind it. The server is started anew.
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

// SetPolicy sets the policy of a bucket, in the words of S3.
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

// Client speaks to the server with somebody's keys.
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
