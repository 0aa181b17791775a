package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// packageName is the name of the Debian package and of the Homebrew formula.
const packageName = "sesslog"

// about describes the package in one line.
const about = "Replicated log of coding agents' sessions"

// writeDebian writes the Debian package of a Linux build into out and returns its
// name. The package has the programs, and the service sessnode with its settings,
// which it neither starts nor enables.
func writeDebian(b *build, source, out string) (string, error) {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: packageName, Arch: b.arch(), Platform: "linux", Version: b.version(), Section: "utils", Priority: "optional",
		Maintainer: "The Sesslog authors <noreply@sesslog.invalid>", Description: about, Homepage: "https://" + b.info.Main.Path,
		License: "Apache-2.0", MTime: b.time(),
		Overridables: nfpm.Overridables{
			Recommends: []string{"ca-certificates"},
			Contents:   b.debianFiles(source),
			Deb:        nfpm.Deb{Compression: "gzip"},
		},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return "", fmt.Errorf("debian package: %w", err)
	}
	name := deb.Default.ConventionalFileName(info)
	f, err := os.Create(filepath.Join(out, name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := deb.Default.Package(info, f); err != nil {
		return "", fmt.Errorf("debian package: %w", err)
	}
	return name, f.Close()
}

func (b *build) debianFiles(source string) files.Contents {
	var contents files.Contents
	add := func(from, to string, mode os.FileMode, kind string) {
		contents = append(contents, &files.Content{
			Source: from, Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Mode: mode, MTime: b.time(), Owner: "root", Group: "root"},
		})
	}
	for _, p := range programs {
		add(b.binary(p), "/usr/bin/"+p, 0o755, files.TypeFile)
	}
	add(filepath.Join(source, "deploy/systemd/sessnode.service"), "/usr/lib/systemd/system/sessnode.service", 0o644, files.TypeFile)
	add(filepath.Join(source, "deploy/debian/sessnode.yaml"), "/etc/sesslog/sessnode.yaml", 0o644, files.TypeConfigNoReplace)
	for name, as := range map[string]string{"LICENSE": "copyright", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md"} {
		add(filepath.Join(source, name), "/usr/share/doc/"+packageName+"/"+as, 0o644, files.TypeFile)
	}
	return contents
}
