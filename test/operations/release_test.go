//go:build linux

package operations_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// unversioned is what the go command calls a build without a tag. The versions
// of the walk are as long, and are written over it: anything else would take
// another build for each.
const unversioned = "(devel)"

// A release is an archive as deploy/release names and fills it.
type release struct {
	version string
	archive []byte
}

func (r release) name() string { return "sesslog-" + r.version + "-linux-amd64.tar.gz" }

// releases builds the programs once, and stamps them with each of versions.
func releases(t *testing.T, versions ...string) []release {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "../../cmd/sessnode", "../../cmd/sessctl")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var all []release
	for _, v := range versions {
		if len(v) != len(unversioned) {
			t.Fatalf("version %s of the walk has not as many characters as %s", v, unversioned)
		}
		all = append(all, release{v, pack(t, dir, v)})
	}
	return all
}

func pack(t *testing.T, dir, version string) []byte {
	t.Helper()
	const module = "mod\tgithub.com/sesslog/sesslog\t"
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, program := range []string{"sessnode", "sessctl"} {
		b, err := os.ReadFile(filepath.Join(dir, program))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte(module+unversioned)) {
			t.Fatalf("%s does not say that it is %s", program, unversioned)
		}
		b = bytes.ReplaceAll(b, []byte(module+unversioned), []byte(module+version))
		h := tar.Header{Name: "sesslog-" + version + "-linux-amd64/" + program, Mode: 0o755, Size: int64(len(b)), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
