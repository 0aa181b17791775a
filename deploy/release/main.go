// Command release builds the files of a release from the committed source, with
// Go and its module proxy only:
//
//	sesslog-VERSION-OS-ARCH.tar.gz (.zip)   the programs, for each platform
//	sesslog-VERSION-OS-ARCH.cdx.json        their dependencies: CycloneDX
//	sesslog_VERSION_ARCH.deb                a Debian package, for each Linux platform
//	sesslog.rb                              a Homebrew formula
//	sesslog-VERSION.oci.tar                 an image for linux/amd64 and arm64
//	SHA256SUMS
//
// The files depend only on the commit and the Go version, not on host or time. The
// go command stamps version and commit from git into the programs (sessctl
// version, go version -m).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// A job holds the options of a release.
type job struct {
	source    string   // the module's root
	out       string   // directory for the files
	platforms []string // of the archives, as os/arch
	image     []string // of the image; empty: no image
	dirty     bool     // allow uncommitted changes
	push      string   // REGISTRY/NAME:TAG to push the image to; empty: none
}

func main() {
	j := job{}
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64", "platforms of the archives; empty: none")
	image := flag.String("image", "linux/amd64,linux/arm64", "platforms of the image; empty: none")
	flag.StringVar(&j.source, "source", "../..", "root of the source")
	flag.StringVar(&j.out, "out", "../../dist", "directory for the files; must be empty or absent")
	flag.BoolVar(&j.dirty, "dirty", false, "build from an uncommitted tree; not reproducible")
	flag.StringVar(&j.push, "push", "", "also push the image to REGISTRY/NAME:TAG")
	flag.Parse()
	j.platforms, j.image = list(*platforms), list(*image)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := j.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

func (j job) run(ctx context.Context) error {
	if err := emptyDir(j.out); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "sesslog-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	built := map[string]*build{}
	for _, platform := range append(j.platforms, j.image...) {
		if built[platform] != nil {
			continue
		}
		if built[platform], err = makeBuild(ctx, j.source, work, platform); err != nil {
			return err
		}
		if err := built[platform].fit(); err != nil && !j.dirty {
			return err
		}
	}
	var files []string
	var archives []*build
	for _, platform := range j.platforms {
		made, err := publish(built[platform], j.source, j.out)
		if err != nil {
			return err
		}
		files, archives = append(files, made...), append(archives, built[platform])
	}
	name, err := writeFormula(archives, j.out)
	if err != nil {
		return err
	}
	if name != "" {
		files = append(files, name)
	}
	if len(j.image) > 0 {
		name, err := j.writeImage(ctx, built)
		if err != nil {
			return fmt.Errorf("image: %w", err)
		}
		files = append(files, name)
	}
	return writeSums(j.out, files)
}

// writeImage writes the image of the builds, pushes it if the job says so, and
// returns the file's name.
func (j job) writeImage(ctx context.Context, built map[string]*build) (string, error) {
	var of []*build
	for _, platform := range j.image {
		of = append(of, built[platform])
	}
	index, err := makeImage(of)
	if err != nil {
		return "", err
	}
	name := of[0].name() + ".oci.tar"
	if err := writeLayout(index, "docker.io/library/sesslog:"+of[0].version(), filepath.Join(j.out, name)); err != nil {
		return "", err
	}
	if j.push == "" {
		return name, nil
	}
	return name, push(ctx, index, j.push)
}

// publish writes the archive of a build, its bill of materials and, for Linux, the
// Debian package.
func publish(b *build, source, out string) ([]string, error) {
	files, err := b.files(source, b.base())
	if err != nil {
		return nil, err
	}
	write := writeTarball
	if b.os() == "windows" {
		write = writeZip
	}
	if err := create(filepath.Join(out, b.archive()), write, files, b.time()); err != nil {
		return nil, err
	}
	list, err := billOf(b)
	if err != nil {
		return nil, err
	}
	bom := b.base() + ".cdx.json"
	if err := os.WriteFile(filepath.Join(out, bom), list, 0o644); err != nil {
		return nil, err
	}
	names := []string{b.archive(), bom}
	if b.os() != "linux" {
		return names, nil
	}
	name, err := writeDebian(b, source, out)
	return append(names, name), err
}

// emptyDir creates dir, or fails if it has files, such as those of another release.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	there, err := os.ReadDir(dir)
	if err == nil && len(there) > 0 {
		err = errors.New(dir + " is not empty; remove it, or choose another with -out")
	}
	return err
}
