package codex

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core/bundle"
)

// A source is a file of a folder, or of a bundle.
type source struct {
	path string
	name rolloutName
	meta meta
	data []byte // unpacked; its beginning if only that was read
}

// headerBytes is how much of a file holds its first line, as a rule.
const headerBytes = 64 << 10

// newSource reads the beginning of a file. It reports false if Codex would not
// take the file for a rollout.
func newSource(path string, data []byte) (source, bool) {
	s := source{path: path, data: data}
	var ok bool
	if s.name, ok = parseRolloutName(path); !ok {
		return s, false
	}
	m, err := readMeta(firstLine(data))
	if err != nil {
		// The line is longer than what was read: its first members and the name say
		// enough to find the file's thread.
		m = glance(data)
		if m.thread == "" {
			m.thread = s.name.thread
		}
	}
	s.meta = m
	return s, m.thread != "" && len(m.thread) <= maxID
}

// glance reads the members of a session_meta that come first, from a line that
// was cut.
func glance(line []byte) meta {
	text := func(name string) string {
		_, rest, ok := bytes.Cut(line[:min(len(line), 4096)], []byte(`"`+name+`":"`))
		value, _, ended := bytes.Cut(rest, []byte(`"`))
		if !ok || !ended || len(value) > maxID || bytes.ContainsRune(value, '\\') {
			return ""
		}
		return strings.ToValidUTF8(string(value), "")
	}
	return meta{thread: text("id"), root: text("session_id"), forkedFrom: text("forked_from_id"), parent: text("parent_thread_id")}
}

// Bundles groups rollouts by thread. A session has the files of its thread, the
// files that these continue, and those of its sub-agents. A sub-agent is a
// separate session if the thread that started it is not there. The index of
// names is a file of the sessions that it names.
func (Dialect) Bundles(paths []string, read func(path string) []byte) []bundle.Bundle {
	var all []source
	var index []byte
	var bundles []bundle.Bundle
	indexPath := ""
	for _, path := range withoutCopies(paths) {
		if isFileCalled(path, indexFile) || isFileCalled(path, historyFile) {
			data := read(path)
			if isOther(path, data) {
				bundles = append(bundles, bundle.Bundle{Files: []string{path}})
			}
			if isFileCalled(path, indexFile) {
				index, indexPath = data, path
			}
			continue
		}
		if _, ok := parseRolloutName(path); !ok {
			continue
		}
		data := read(path)
		if isPacked(data) {
			data, _ = unpackedUpTo(data, headerBytes)
		}
		if s, ok := newSource(path, data); ok {
			all = append(all, s)
		}
	}
	s := newSources(all)
	for _, thread := range s.threads {
		if s.starter(thread) != "" {
			continue
		}
		own := s.byThread[thread]
		b := bundle.Bundle{Main: own[0].path}
		for _, f := range s.session(thread) {
			b.Files = append(b.Files, f.path)
		}
		if mentions(index, thread) {
			b.Files = append(b.Files, indexPath)
		}
		bundles = append(bundles, b)
	}
	return bundles
}

// withoutCopies returns the paths without those of a compressed rollout that is
// there uncompressed, too, and of other files of one name.
func withoutCopies(paths []string) []string {
	key := func(path string) string { return strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".zst") }
	best := map[string]string{}
	for _, path := range paths {
		old, ok := best[key(path)]
		if !ok || strings.HasSuffix(old, ".zst") && !strings.HasSuffix(path, ".zst") {
			best[key(path)] = path
		}
	}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return best[key(path)] != path })
}

// sources are files by thread.
type sources struct {
	threads  []string // in the order of their first files
	byThread map[string][]source
}

func newSources(all []source) *sources {
	s := &sources{byThread: map[string][]source{}}
	threads := map[string]string{}
	for _, f := range all {
		threads[f.name.rollout] = f.meta.thread
	}
	slices.SortStableFunc(all, func(a, b source) int { return a.name.compare(b.name) })
	for _, f := range all {
		f.meta.base = f.meta.base.of(threads)
		if s.byThread[f.meta.thread] == nil {
			s.threads = append(s.threads, f.meta.thread)
		}
		s.byThread[f.meta.thread] = append(s.byThread[f.meta.thread], f)
	}
	return s
}

// starter returns the thread to whose session the sub-agent belongs, or "" if
// thread is not one, or its starter is not there.
func (s *sources) starter(thread string) string {
	top := thread
	for range len(s.threads) {
		parent := s.byThread[top][0].meta.parent
		if parent == "" || s.byThread[parent] == nil {
			break
		}
		if top = parent; top == thread {
			return "" // they started each other
		}
	}
	if top == thread {
		return ""
	}
	return top
}

// session returns the files of the session of thread: those that it continues,
// its own, and those of sub-agents.
func (s *sources) session(thread string) []source {
	files := append(s.bases(thread), s.byThread[thread]...)
	for _, other := range s.threads {
		if s.starter(other) == thread {
			files = append(files, s.byThread[other]...)
		}
	}
	have := map[string]bool{}
	return slices.DeleteFunc(files, func(f source) bool {
		was := have[f.path]
		have[f.path] = true
		return was
	})
}

// bases returns all files of the threads that the files of thread continue, the
// oldest thread first.
func (s *sources) bases(thread string) []source {
	var files []source
	seen := map[string]bool{thread: true}
	var visit func(thread string)
	visit = func(thread string) {
		for _, f := range s.byThread[thread] {
			for _, next := range f.continues() {
				if !seen[next] {
					seen[next] = true
					visit(next)
					files = append(files, s.byThread[next]...)
				}
			}
		}
	}
	visit(thread)
	return files
}

// continues returns the threads that a file may continue. If only the beginning
// of the first line is known, that is every thread it came from.
func (f *source) continues() []string {
	switch {
	case f.meta.base != nil:
		return []string{f.meta.base.thread}
	case f.meta.mode == "" && f.meta.forkedFrom != "" && f.meta.time == "":
		return []string{f.meta.forkedFrom}
	}
	return nil
}
