package cli

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
)

// HeaderWithin is how many bytes of a file are searched for its header.
const HeaderWithin = 64 << 10

// A FileSet is the files of one session of which the agent keeps several.
type FileSet struct {
	bundle.Bundle
	Rules bundle.Bundler
	root  string // the directory that the paths are below
}

// bundles returns the sessions of several files among paths, which are relative
// to root.
func bundles(root string, paths []string) (all []FileSet) {
	read := func(p string) []byte { return beginning(filepath.Join(root, filepath.FromSlash(p))) }
	dialects := dialect.All()
	for _, name := range slices.Sorted(maps.Keys(dialects)) {
		rules, ok := dialects[name].(bundle.Bundler)
		if !ok {
			continue
		}
		for _, b := range rules.Bundles(paths, read) {
			all = append(all, FileSet{b, rules, root})
		}
	}
	return all
}

// beginning returns the first bytes of a regular file, or nil.
func beginning(path string) []byte {
	f, size, err := OpenFile(path)
	if err != nil || size < 0 {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, HeaderWithin))
	if err != nil {
		return nil
	}
	return b
}

// BundlesBelow returns the sessions of several files in and below dir.
func BundlesBelow(dir string) []FileSet {
	var paths []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // WalkSessions reports it
		}
		if rel, err := filepath.Rel(dir, path); err == nil && d.Type().IsRegular() {
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	return bundles(dir, paths)
}

// BundleOf returns the session of several files whose main file is name.
func BundleOf(name string) (FileSet, bool) {
	dir, base := filepath.Dir(name), filepath.Base(name)
	paths := []string{base}
	companions := filepath.Join(dir, strings.TrimSuffix(base, filepath.Ext(base)))
	_ = filepath.WalkDir(companions, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if rel, err := filepath.Rel(dir, path); err == nil {
				paths = append(paths, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	for _, b := range bundles(dir, paths) {
		if b.Main == base {
			return b, true
		}
	}
	return FileSet{}, false
}

// Names returns the paths of the files as this host has them.
func (b *FileSet) Names() []string {
	names := make([]string, len(b.Files))
	for i, p := range b.Files {
		names[i] = filepath.Join(b.root, filepath.FromSlash(p))
	}
	return names
}

// Size is the total size of the files now.
func (b *FileSet) Size() (total int64) {
	for _, name := range b.Names() {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return total
}

// Read reads the files, up to MaxFile bytes in all, as they may leave the host.
func (a *App) Read(b *FileSet, p secrets.Policy) ([]bundle.File, error) {
	var files []bundle.File
	left := a.MaxFile
	for i, name := range b.Names() {
		f, size, err := OpenFile(name)
		if err != nil {
			return nil, err
		}
		if size < 0 || size > left {
			_ = f.Close()
			return nil, fmt.Errorf("%s: its session is larger than %s: %w", name, Bytes(a.MaxFile), core.ErrTooLarge)
		}
		data, err := io.ReadAll(io.LimitReader(f, size)) // it may be growing
		_ = f.Close()
		if err != nil {
			return nil, FileError(name, err)
		}
		left -= int64(len(data))
		packer, ok := b.Rules.(bundle.Packer)
		if data, err = p.MaskFile(b.Files[i], ok && packer.Whole(b.Files[i]), data); err != nil {
			return nil, err
		}
		files = append(files, bundle.File{Path: b.Files[i], Data: data})
	}
	return files, nil
}
