package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sessionFiles returns the files that names stand for: each file itself, and
// for a directory the session files in it and below it, by name. Links in a
// directory are not followed, and what begins with a point is passed over: it
// is an agent's own, or a file in the making.
func sessionFiles(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.IsDir() {
			files = append(files, name) // what is wrong with it is said where it is read
			continue
		}
		found, err := filesBelow(name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, hintf(usagef("there is no session file in %s or below it", name), "name the files themselves")
		}
		files = append(files, found...)
	}
	return files, nil
}

func filesBelow(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return noFile(path, err)
		case path != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.Type().IsRegular() && isSessionName(path):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// isSessionName reports whether agents give their sessions such a name. Nova's
// end like any JSON file and are known by their folder.
func isSessionName(path string) bool {
	if strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".jsonl.__partial__") {
		return true
	}
	return strings.HasSuffix(path, ".json") && filepath.Base(filepath.Dir(path)) == "sessions"
}
