package write

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// A foundFile is a file to import, or a path that cannot be read.
type foundFile struct {
	name   string
	size   int64 // -1 if unknown
	err    error
	bundle *cli.FileSet // of several files; name is the main one
}

// sessionFiles returns the files of names: each file itself, and for a directory
// the session files in and below it, each once, as cli.WalkSessions finds them.
func sessionFiles(names []string) ([]foundFile, error) {
	var files []foundFile
	seen := map[string]bool{}
	for _, name := range names {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.IsDir() {
			size := int64(-1)
			if err == nil && info.Mode().IsRegular() {
				size = info.Size()
			}
			file := foundFile{name: name, size: size} // errors are returned when it is read
			if b, ok := cli.BundleOf(name); ok && size >= 0 {
				file.bundle, file.size = &b, b.Size()
			}
			files = append(files, file)
			continue
		}
		found := withBundles(name, filesBelow(name))
		if len(found) == 0 {
			err := cli.Hintf(cli.Usagef("no session files in or below %s", name), "name the files")
			if len(names) == 1 {
				return nil, err
			}
			found = []foundFile{{name: name, err: err}} // it does not stop the import of the others
		}
		for _, f := range found {
			if at, err := filepath.Abs(f.name); err == nil {
				if seen[at] {
					continue
				}
				seen[at] = true
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// withBundles returns files, which are those below dir, with one in the place of
// all files of a session.
func withBundles(dir string, files []foundFile) []foundFile {
	of := map[string]bool{}
	var all []foundFile
	for _, b := range cli.BundlesBelow(dir) {
		for _, name := range b.Names() {
			of[name] = true
		}
		if b.Main == "" {
			continue
		}
		all = append(all, foundFile{name: filepath.Join(dir, filepath.FromSlash(b.Main)), size: b.Size(), bundle: &b})
	}
	for _, f := range files {
		if !of[f.name] {
			all = append(all, f)
		}
	}
	return all
}

// filesBelow returns the session files in and below dir, and the paths that cannot
// be read with their errors.
func filesBelow(dir string) (files []foundFile) {
	cli.WalkSessions(dir, func(path string, d fs.DirEntry, err error) {
		size := int64(-1)
		if d != nil {
			if info, err := d.Info(); err == nil {
				size = info.Size()
			}
		}
		files = append(files, foundFile{name: path, size: size, err: err})
	})
	return files
}
