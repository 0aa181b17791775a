package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var long = flag.Bool("long", false, "all platforms, and the second build from an empty cache")

var scratch string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "sesslog-release-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		scratch = dir
		return m.Run()
	}())
}

// made is one release for all tests, from a commit of the current source.
var made = sync.OnceValues(func() (string, error) { return release("a") })

func releaseOf(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git, which gives the version, is missing")
	}
	dir, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// release commits a copy of the source below a directory of that name and builds
// a release from it.
func release(at string) (string, error) {
	source := filepath.Join(scratch, at, "source")
	if err := copySource(source); err != nil {
		return "", err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "a release"}, {"tag", "v1.2.3"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = source
		const who, when = "tester", "2026-01-05T09:00:00Z"
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME="+who, "GIT_AUTHOR_EMAIL="+who, "GIT_AUTHOR_DATE="+when,
			"GIT_COMMITTER_NAME="+who, "GIT_COMMITTER_EMAIL="+who, "GIT_COMMITTER_DATE="+when)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %v: %w\n%s", args, err, out)
		}
	}
	j := job{source: source, out: filepath.Join(scratch, at, "dist"), platforms: []string{"linux/amd64"}, image: []string{"linux/amd64", "linux/arm64"}}
	if *long {
		j.platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}
	}
	return j.out, j.run(context.Background())
}

func copySource(to string) error {
	const root = "../.."
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, rel):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular() || rel == ".git":
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), content, 0o644)
	})
}

func TestReleasesOfOneCommitAreIdentical(t *testing.T) {
	first := releaseOf(t)
	if *long {
		t.Setenv("GOCACHE", t.TempDir())
	}
	second, err := release("in/another/place")
	if err != nil {
		t.Fatal(err)
	}
	a, b := sums(t, first), sums(t, second)
	if len(a) < 3 {
		t.Errorf("only %d files", len(a))
	}
	for name, sum := range a {
		if b[name] != sum {
			t.Errorf("%s is not the same in two builds", name)
		}
	}
}

// sums reads SHA256SUMS and checks it against the files.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for s := bufio.NewScanner(bytes.NewReader(read(t, dir, "SHA256SUMS"))); s.Scan(); {
		sum, name, _ := strings.Cut(s.Text(), "  ")
		if is := sha256.Sum256(read(t, dir, name)); hex.EncodeToString(is[:]) != sum {
			t.Errorf("%s is not what SHA256SUMS says", name)
		}
		all[name] = sum
	}
	there, err := os.ReadDir(dir)
	if err != nil || len(there) != len(all)+1 {
		t.Errorf("%d files, %d sums: %v", len(there), len(all), err)
	}
	return all
}

func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestProgramsAndBillMatchBuild(t *testing.T) {
	dir := releaseOf(t)
	files := untar(t, gunzip(t, read(t, dir, "sesslog-v1.2.3-linux-amd64.tar.gz")))
	const top = "sesslog-v1.2.3-linux-amd64/"
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if len(files[top+name]) == 0 {
			t.Errorf("there is no %s", name)
		}
	}
	var bill cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(read(t, dir, "sesslog-v1.2.3-linux-amd64.cdx.json")), cdx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, c := range *bill.Components {
		listed[c.PackageURL] = true
	}
	for i, p := range programs {
		content := files[top+p]
		info, err := buildinfo.Read(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if info.Main.Version != "v1.2.3" {
			t.Errorf("%s is %s", p, info.Main.Version)
		}
		if !bytes.Contains(content, []byte("vcs.modified=false")) {
			t.Errorf("%s does not say that it is as committed", p)
		}
		for _, d := range info.Deps {
			if !listed["pkg:golang/"+d.Path+"@"+d.Version] {
				t.Errorf("%s has %s, which is not listed", p, d.Path)
			}
		}
		sum := sha256.Sum256(content)
		if c := (*bill.Metadata.Component.Components)[i]; c.Name != p || (*c.Hashes)[0].Value != hex.EncodeToString(sum[:]) {
			t.Errorf("the list is not of this %s", p)
		}
		if bytes.Contains(content, []byte(scratch)) {
			t.Errorf("%s names the folder that it was built in", p)
		}
	}
}

// The test reads the image by its specification, without the library that wrote it.
func TestImageHasBothPlatforms(t *testing.T) {
	dir := releaseOf(t)
	blobs := untar(t, read(t, dir, "sesslog-v1.2.3.oci.tar"))
	if !strings.Contains(string(blobs["oci-layout"]), `"1.0.0"`) {
		t.Errorf("oci-layout: %q", blobs["oci-layout"])
	}
	type descriptor struct {
		Digest      string
		Size        int
		Platform    struct{ OS, Architecture string }
		Annotations map[string]string
	}
	type manifest struct {
		Manifests []descriptor
		Config    descriptor
		Layers    []descriptor
	}
	get := func(d descriptor) []byte {
		b := blobs["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		if sum := sha256.Sum256(b); "sha256:"+hex.EncodeToString(sum[:]) != d.Digest || len(b) != d.Size {
			t.Fatalf("%s is %d bytes and not these", d.Digest, len(b))
		}
		return b
	}
	parse := func(b []byte, v any) {
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	var outer, index manifest
	parse(blobs["index.json"], &outer)
	parse(get(outer.Manifests[0]), &index)
	if len(outer.Manifests) != 1 || len(index.Manifests) != 2 {
		t.Fatalf("%d images for %d platforms", len(outer.Manifests), len(index.Manifests))
	}
	for _, of := range []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"} {
		if got, want := outer.Manifests[0].Annotations[of], "docker.io/library/sesslog:v1.2.3"; got != want {
			t.Errorf("the image's %s is %q, want %q", of, got, want)
		}
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	for _, d := range index.Manifests {
		arch := d.Platform.Architecture
		var m manifest
		parse(get(d), &m)
		var conf struct {
			OS, Architecture string
			Config           struct {
				User       string
				Entrypoint []string
				Labels     map[string]string
			}
		}
		parse(get(m.Config), &conf)
		if conf.OS != "linux" || d.Platform.OS != "linux" || conf.Architecture != arch {
			t.Errorf("%s: the configuration says %s/%s", arch, conf.OS, conf.Architecture)
		}
		if conf.Config.User != "65532:65532" || !slices.Equal(conf.Config.Entrypoint, []string{"/usr/local/bin/sessnode"}) {
			t.Errorf("%s: runs %v as %s", arch, conf.Config.Entrypoint, conf.Config.User)
		}
		for _, l := range []string{"title", "version", "revision", "created", "source", "licenses"} {
			if conf.Config.Labels["org.opencontainers.image."+l] == "" {
				t.Errorf("%s: no label %s", arch, l)
			}
		}
		root := map[string][]byte{}
		var layers [][]byte
		for _, l := range m.Layers {
			layers = append(layers, gunzip(t, get(l)))
			for name, content := range untar(t, layers[len(layers)-1]) {
				root[name] = content
			}
		}
		for _, p := range programs {
			f, err := elf.NewFile(bytes.NewReader(root["usr/local/bin/"+p]))
			if err != nil {
				t.Fatal(err)
			}
			dynamic := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
			if f.Machine != machines[arch] || dynamic {
				t.Errorf("%s: %s is for %v, dynamic: %v", arch, p, f.Machine, dynamic)
			}
		}
		if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(root["etc/ssl/certs/ca-certificates.crt"]) {
			t.Errorf("%s: no certificate authorities", arch)
		}
		if arch == "amd64" {
			runInside(t, layers)
		}
	}
}

func gunzip(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// untar returns the regular files. It checks that all have the commit's time and no
// owner.
func untar(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uname != "" || h.Gname != "" {
			t.Errorf("%s is %s's", h.Name, h.Uname)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestImageIsPushedUnchanged(t *testing.T) {
	index := unpacked(t, read(t, releaseOf(t), "sesslog-v1.2.3.oci.tar"))
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	to := strings.TrimPrefix(s.URL, "http://") + "/sesslog:v1.2.3"
	if err := push(t.Context(), index, to); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	there, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(there); err != nil {
		t.Error(err)
	}
	want, _ := index.Digest()
	if got, _ := there.Digest(); got != want {
		t.Errorf("the registry has %s, and not %s", got, want)
	}
}

// unpacked is the image in an OCI layout.
func unpacked(t *testing.T, b []byte) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	for name, content := range untar(t, b) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	index, err := outer.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestUncommittedSourceIsNotReleased(t *testing.T) {
	releaseOf(t)
	source := filepath.Join(scratch, "a", "source")
	more := filepath.Join(source, "cmd", "sessctl", "more.go")
	if err := os.WriteFile(more, []byte("package main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(more)
	j := job{source: source, out: t.TempDir(), platforms: []string{"linux/amd64"}}
	if err := j.run(t.Context()); err == nil || !strings.Contains(err.Error(), "commit") {
		t.Errorf("released: %v", err)
	}
	j.out = filepath.Join(scratch, "a", "dist")
	if err := j.run(t.Context()); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("released into another release's folder: %v", err)
	}
}
