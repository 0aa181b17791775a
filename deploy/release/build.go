package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// programs are the published programs, by package name.
var programs = []string{"sessnode", "sessctl", "sessmodel"}

// A build is the programs for one platform.
type build struct {
	platform string // os/arch
	dir      string
	info     *buildinfo.BuildInfo // of the first program; the others differ in dependencies only
}

// makeBuild builds the programs for a platform into a new directory below work. It
// ignores the user's GOFLAGS.
func makeBuild(ctx context.Context, source, work, platform string) (*build, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("%q is not a platform such as linux/amd64", platform)
	}
	b := &build{platform: platform, dir: filepath.Join(work, system+"-"+arch)}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, err
	}
	args := []string{"build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", b.dir + string(filepath.Separator)}
	for _, p := range programs {
		args = append(args, "./cmd/"+p)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build for %s: %w\n%s", platform, err, out)
	}
	var err error
	b.info, err = buildinfo.ReadFile(b.binary(programs[0]))
	return b, err
}

// fit returns an error if the build must not be published.
func (b *build) fit() error {
	switch {
	case b.setting("vcs.revision") == "":
		return fmt.Errorf("no version: the go command finds no git checkout (linked worktrees do not count)\nhint: -dirty builds anyway")
	case b.setting("vcs.modified") != "false":
		return fmt.Errorf("the source has uncommitted changes\nhint: commit them, or use -dirty")
	}
	return nil
}

func (b *build) os() string   { system, _, _ := strings.Cut(b.platform, "/"); return system }
func (b *build) arch() string { _, arch, _ := strings.Cut(b.platform, "/"); return arch }

// binary is the path of a program.
func (b *build) binary(program string) string {
	if b.os() == "windows" {
		program += ".exe"
	}
	return filepath.Join(b.dir, program)
}

// version is the version that the go command derives from git: v1.2.3 at that tag,
// v1.2.4-0.<time>-<commit> after it.
func (b *build) version() string {
	if v := b.info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "devel"
}

// name is the prefix of all file names.
func (b *build) name() string { return "sesslog-" + b.version() }

// base is the name of the directory in the archive, and of the files of this build
// but for their endings.
func (b *build) base() string { return b.name() + "-" + strings.ReplaceAll(b.platform, "/", "-") }

// archive is the name of the archive.
func (b *build) archive() string {
	if b.os() == "windows" {
		return b.base() + ".zip"
	}
	return b.base() + ".tar.gz"
}

func (b *build) setting(key string) string {
	for _, s := range b.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// time is the time of the commit, and of all files.
func (b *build) time() time.Time {
	t, err := time.Parse(time.RFC3339, b.setting("vcs.time"))
	if err != nil {
		return time.Unix(0, 0).UTC()
	}
	return t.UTC()
}

// files returns the files of an archive, below dir.
func (b *build) files(source, dir string) ([]file, error) {
	var files []file
	add := func(path string, mode int64) error {
		content, err := os.ReadFile(path)
		files = append(files, file{name: dir + "/" + filepath.Base(path), mode: mode, content: content})
		return err
	}
	for _, p := range programs {
		if err := add(b.binary(p), 0o755); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md"} {
		if err := add(filepath.Join(source, name), 0o644); err != nil {
			return nil, err
		}
	}
	return files, nil
}
