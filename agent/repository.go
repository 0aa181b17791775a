package agent

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A repository is a git repository on this host. Its files are read directly:
// running git could run programs that the repository configures.
type repository struct {
	root    string
	remotes []remote
}

type remote struct{ name, url string }

// repositoryAt returns the repository that contains dir.
func repositoryAt(dir string) (repository, bool) {
	for {
		dot := filepath.Join(dir, ".git")
		if info, err := os.Lstat(dot); err == nil {
			r := repository{root: dir}
			if !info.IsDir() {
				dot = linkedDir(dot)
			}
			r.remotes = remotesIn(filepath.Join(dot, "config"))
			return r, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return repository{}, false
		}
		dir = parent
	}
}

// linkedDir returns the git directory of a linked worktree, whose .git is a file.
func linkedDir(file string) string {
	dir := pointer(file, "gitdir:")
	if dir == "" {
		return file
	}
	if common := pointer(filepath.Join(dir, "commondir"), ""); common != "" {
		return common
	}
	return dir
}

// pointer returns the path that follows word in the file at name. A relative path
// is relative to the file's directory.
func pointer(name, word string) string {
	text, ok := strings.CutPrefix(strings.TrimSpace(string(smallFile(name))), word)
	if text = strings.TrimSpace(text); !ok || text == "" {
		return ""
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(name), text)
	}
	return text
}

// smallFile returns the first MiB of a file, or nil if it cannot be read.
func smallFile(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, 1<<20))
	return b
}

// remotesIn returns the remotes in a git configuration file.
func remotesIn(config string) []remote {
	var found []remote
	section := ""
	lines := bufio.NewScanner(bytes.NewReader(smallFile(config)))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = ""
			if name, ok := strings.CutPrefix(line, `[remote "`); ok {
				section, _, _ = strings.Cut(name, `"]`)
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section != "" && strings.TrimSpace(key) == "url" {
			found = append(found, remote{section, strings.Trim(strings.TrimSpace(value), `"`)})
		}
	}
	return found
}

// matches says why a directory called name may be this repository. It is empty if
// nothing matches.
func (r repository) matches(name string) string {
	if name == filepath.Base(r.root) {
		return fmt.Sprintf("the current repository, %s, has the same name", r.root)
	}
	for _, m := range r.remotes {
		last := strings.TrimSuffix(strings.TrimRight(m.url, "/"), ".git")
		if last = last[strings.LastIndexAny(last, "/:")+1:]; last == name {
			return fmt.Sprintf("the current repository, %s, has it as its remote %s", r.root, m.name)
		}
	}
	return ""
}
