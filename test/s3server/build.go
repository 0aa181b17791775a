package s3server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Version is the version of the server in tools/go.mod.
const Version = "v1.8.0"

const (
	self   = "github.com/sesslog/sesslog/test/s3server"
	server = "github.com/versity/versitygw/cmd/versitygw"
)

// Build returns the path of the server's binary, and builds it if necessary. Several
// processes may call it at once: one builds, the others wait. The go command must
// find this package from the working directory.
func Build(ctx context.Context) (string, error) {
	path, err := build(ctx)
	if err != nil {
		return "", fmt.Errorf("build the S3 server (versitygw %s): %w", Version, err)
	}
	return path, nil
}

func build(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "sesslog-test")
	path := filepath.Join(dir, fmt.Sprintf("versitygw-%s-%s-%s", Version, runtime.GOOS, runtime.GOARCH))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock := flock.New(path + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another build: %w", err)
	}
	defer lock.Close()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err // built by another process
	}
	src, err := run(exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", self))
	if err != nil {
		return "", err
	}
	// A killed build must not leave an incomplete binary under the final name.
	half := path + ".new"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", half, server)
	cmd.Dir = filepath.Join(strings.TrimSpace(src), "tools")
	// Do not use the flags, the workspace and the race detector of the module
	// under test.
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	if _, err := run(cmd); err != nil {
		return "", err
	}
	return path, os.Rename(half, path)
}

// run returns the output of cmd, or an error with its stderr.
func run(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return string(out), nil
}
