package damage_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kindOf returns the kind of a file by its path below the data directory, "" for one
// that has nothing.
func kindOf(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	base := parts[len(parts)-1]
	what := base
	if ext := filepath.Ext(base); ext != "" {
		what = ext[1:]
	}
	switch {
	case strings.Contains(base, "lock"), strings.Contains(path, "/tmp/"):
		return ""
	case parts[0] == "nats" && strings.Contains(path, "/_js_/"):
		return raftKind(parts, what)
	case parts[0] == "nats" && strings.Contains(path, "/streams/SESS_"):
		return "log " + what
	case parts[0] == "nats" && strings.Contains(path, "/streams/SESSAUDIT_"):
		return "audit " + what
	case parts[0] == "nats" && strings.Contains(path, "/streams/"):
		return "tokens, presence " + what
	case parts[0] == "nats":
		return "nats " + base
	case parts[0] == "blobs" && len(parts) > 1:
		return "store " + parts[1]
	case parts[0] == "blob-cache":
		return "cache of the store"
	}
	return base
}

// raftKind is kindOf for a file of a Raft group.
func raftKind(parts []string, what string) string {
	kind := "raft "
	for _, p := range parts {
		if p == "_meta_" {
			kind = "raft of all "
		}
		if p == "snapshots" {
			return kind + p
		}
	}
	return kind + what
}

// filesByKind returns the files below dir by their kind.
func filesByKind(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	walk(t, dir, func(rel string, _ fs.FileInfo) {
		if kind := kindOf(rel); kind != "" {
			out[kind] = append(out[kind], rel)
		}
	})
	return out
}

// storeByKind returns the objects of a store by their kind.
func storeByKind(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	walk(t, dir, func(rel string, _ fs.FileInfo) {
		if kind := kindOf("blobs/" + rel); kind != "" {
			out[kind] = append(out[kind], rel)
		}
	})
	return out
}

// walk calls f for the regular files below dir.
func walk(tb testing.TB, dir string, f func(rel string, info fs.FileInfo)) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			f(rel, info)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// copyDir copies a data directory to a new directory. Files with several names, which
// the log has, keep them.
func copyDir(tb testing.TB, from, to string) {
	tb.Helper()
	type copied struct {
		info fs.FileInfo
		path string
	}
	var all []copied
	walk(tb, from, func(rel string, info fs.FileInfo) {
		path := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		for _, c := range all {
			if c.info.Size() == info.Size() && os.SameFile(c.info, info) {
				if err := os.Link(c.path, path); err != nil {
					tb.Fatal(err)
				}
				return
			}
		}
		if err := os.WriteFile(path, read(tb, filepath.Join(from, rel)), info.Mode().Perm()|0o200); err != nil {
			tb.Fatal(err)
		}
		all = append(all, copied{info, path})
	})
}
