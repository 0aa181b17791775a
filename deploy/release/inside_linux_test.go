package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// runInside starts what is in an image as the image says: as its user, with
// nothing around it but its own files.
func runInside(t *testing.T, layers [][]byte) {
	t.Helper()
	if os.Getuid() != 0 || runtime.GOARCH != "amd64" {
		t.Log("skipped: only root can change the root directory, and only for programs of this machine's kind")
		return
	}
	root := t.TempDir()
	for dir := root; dir != filepath.Dir(scratch) && dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755) // for the user of the image
	}
	for _, layer := range layers {
		extract(t, root, layer)
	}
	for _, args := range [][]string{{"/usr/local/bin/sessnode", "--version"}, {"/usr/local/bin/sessnode", "config", "--data=/data"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env, cmd.Dir = []string{"HOME=/data"}, "/data"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if args[1] == "--version" && !strings.Contains(string(out), "v1.2.3") {
			t.Errorf("the version is %s", out)
		}
	}
}

func extract(t *testing.T, root string, layer []byte) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			content, _ := io.ReadAll(r)
			_ = os.MkdirAll(filepath.Dir(path), 0o755)
			err = os.WriteFile(path, content, 0o600)
		}
		if err == nil {
			err = errors.Join(os.Chown(path, h.Uid, h.Gid), os.Chmod(path, h.FileInfo().Mode().Perm()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
