//go:build linux

package operations_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// programs are the files of an archive.
var programs = []string{"sessnode", "sessctl", "sessmodel"}

// archive packs the programs as deploy/release does, stamped with a version, and
// returns the path. It overwrites the version in the binaries to avoid a build.
func archive(t *testing.T, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sesslog-"+version+"-linux-amd64.tar.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, program := range programs {
		if err := pack(w, "sesslog-"+version+"-linux-amd64/"+program, stamped(t, program, version)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func pack(w *tar.Writer, name string, program []byte) error {
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program)), Typeflag: tar.TypeReg})
	if err != nil {
		return err
	}
	_, err = io.Copy(w, bytes.NewReader(program))
	return err
}

// stamped returns a program with that version in place of the one from the go
// command, which must not be shorter.
func stamped(t *testing.T, program, version string) []byte {
	t.Helper()
	path := harness.Binary(t, program)
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	more := len(info.Main.Version) - len(version)
	if more < 0 {
		t.Fatalf("version %s is longer than %s", version, info.Main.Version)
	}
	b := testkit.ReadFile(t, path)
	mark := "mod\t" + info.Main.Path + "\t"
	old, stamp := mark+info.Main.Version, mark+version+strings.Repeat("+", more)
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s does not contain its version", program)
	}
	return bytes.ReplaceAll(b, []byte(old), []byte(stamp))
}
