package s3blob

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// deadlines is a connection that only records its deadlines.
type deadlines struct {
	net.Conn
	read, write time.Time
}

func (d *deadlines) Read([]byte) (int, error)            { return 0, nil }
func (d *deadlines) Write([]byte) (int, error)           { return 0, nil }
func (d *deadlines) SetReadDeadline(end time.Time) error { d.read = end; return nil }
func (d *deadlines) SetDeadline(end time.Time) error     { d.read, d.write = end, end; return nil }

func noCredentials(t *testing.T) {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestCredentialsComeFromTheEnvironment(t *testing.T) {
	noCredentials(t)
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	cfg := config(server)
	cfg.AccessKey, cfg.SecretKey = "", ""
	b := ready(t, cfg)
	if err := b.Put(t.Context(), "a", strings.NewReader("x"), 1); err != nil {
		t.Error(err)
	}
}

func TestMissingCredentialsAreReported(t *testing.T) {
	noCredentials(t)
	cfg := config(server)
	cfg.AccessKey, cfg.SecretKey = "", ""
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	wantUnavailable(t, b.Ready(t.Context()), "no S3 credentials")
}
