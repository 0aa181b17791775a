package dialect_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/usage"
)

func TestEveryDialectReportsUsage(t *testing.T) {
	t.Parallel()
	for name, d := range dialect.All() {
		if _, ok := d.(usage.Reporter); !ok {
			t.Errorf("%s is no usage.Reporter", name)
		}
	}
}

// FLEET-23: rows and reports of usage are made by the same rules.
func TestCorpusSummariesGrow(t *testing.T) {
	t.Parallel()
	dir := dialecttest.Corpus(t)
	for name, d := range dialect.All() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for path, f := range sessionsIn(t, d, filepath.Join(dir, name)) {
				t.Log(path)
				dialecttest.Grows(t, d, f.Header, f.Entries)
			}
		})
	}
}

// sessionsIn returns the sessions of d in a folder, by the path of their main file.
func sessionsIn(t *testing.T, d core.Dialect, dir string) map[string]*core.File {
	t.Helper()
	data := map[string][]byte{}
	var paths []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		data[filepath.ToSlash(rel)], paths = b, append(paths, filepath.ToSlash(rel))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpus has no such sessions")
	}
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*core.File{}
	b, ok := d.(bundle.Bundler)
	if !ok {
		for path, text := range data {
			if f, err := d.File(text); err == nil && d.Detect(text) {
				all[path] = f
			}
		}
		return all
	}
	for _, one := range b.Bundles(paths, func(p string) []byte { return data[p] }) {
		var files []bundle.File
		for _, p := range one.Files {
			files = append(files, bundle.File{Path: p, Data: data[p]})
		}
		if f, err := b.Pack(one.Main, files); err == nil {
			all[one.Main] = f
		}
	}
	return all
}
