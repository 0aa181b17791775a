package write

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
)

// A fileSet is the files of one session of which the agent keeps several.
type fileSet struct {
	bundle.Bundle
	rules bundle.Bundler
	root  string // the directory that the paths are below
}

// bundles returns the sessions of several files among paths, which are relative
// to root.
func bundles(root string, paths []string) (all []fileSet) {
	read := func(p string) []byte { return beginning(filepath.Join(root, filepath.FromSlash(p))) }
	dialects := dialect.All()
	for _, name := range slices.Sorted(maps.Keys(dialects)) {
		rules, ok := dialects[name].(bundle.Bundler)
		if !ok {
			continue
		}
		for _, b := range rules.Bundles(paths, read) {
			all = append(all, fileSet{b, rules, root})
		}
	}
	return all
}

// beginning returns the first bytes of a regular file, or nil.
func beginning(path string) []byte {
	f, size, err := cli.OpenFile(path)
	if err != nil || size < 0 {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, headerWithin))
	if err != nil {
		return nil
	}
	return b
}

// bundlesBelow returns the sessions of several files in and below dir.
func bundlesBelow(dir string) []fileSet {
	var paths []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // filesBelow reports it
		}
		if rel, err := filepath.Rel(dir, path); err == nil && d.Type().IsRegular() {
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	return bundles(dir, paths)
}

// bundleOf returns the session of several files whose main file is name.
func bundleOf(name string) (fileSet, bool) {
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
	return fileSet{}, false
}

// names returns the paths of the files as this host has them.
func (b *fileSet) names() []string {
	names := make([]string, len(b.Files))
	for i, p := range b.Files {
		names[i] = filepath.Join(b.root, filepath.FromSlash(p))
	}
	return names
}

// size is the total size of the files now.
func (b *fileSet) size() (total int64) {
	for _, name := range b.names() {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return total
}

// pack reads the files and returns the session as one file.
func (a app) pack(b *fileSet) ([]byte, error) {
	var files []bundle.File
	left := a.MaxFile
	for i, name := range b.names() {
		f, size, err := cli.OpenFile(name)
		if err != nil {
			return nil, err
		}
		if size < 0 || size > left {
			_ = f.Close()
			return nil, fmt.Errorf("%s: its session is larger than %s: %w", name, cli.Bytes(a.MaxFile), core.ErrTooLarge)
		}
		data, err := io.ReadAll(io.LimitReader(f, size)) // it may be growing
		_ = f.Close()
		if err != nil {
			return nil, cli.FileError(name, err)
		}
		left -= int64(len(data))
		files = append(files, bundle.File{Path: b.Files[i], Data: data})
	}
	f, err := b.rules.Pack(b.Main, files)
	if err != nil {
		return nil, err
	}
	return core.Lines(f.Header.Before(f.Entries)), nil
}
