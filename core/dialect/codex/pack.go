package codex

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Pack makes one session of the rollouts among files. The files that the thread
// continues come first, each up to where it is continued, then those of the
// thread, then those of sub-agents, whose lines have no place in the tree.
func (d Dialect) Pack(main string, files []bundle.File) (*core.File, error) {
	f, _, err := d.Begin(main, files)
	return f, err
}

// Begin implements bundle.Packer.
func (d Dialect) Begin(main string, files []bundle.File) (*core.File, bundle.Packing, error) {
	var all []source
	thread := ""
	for _, f := range files {
		data, err := unpacked(f.Data)
		if err != nil {
			if f.Path == main {
				return nil, nil, err
			}
			continue
		}
		s, ok := newSource(f.Path, data)
		if _, err := readMeta(firstLine(data)); err != nil || !ok {
			if f.Path == main && err != nil {
				return nil, nil, err
			}
			continue // it may be that Codex is writing its first line
		}
		if f.Path == main {
			thread = s.meta.thread
		}
		all = append(all, s)
	}
	if thread == "" {
		return nil, nil, fmt.Errorf("%s is not a rollout of Codex: %w", jsonl.Clip(main, 80), core.ErrInvalid)
	}
	f, p, err := d.packed(thread, newSources(all))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range namedIn(files, thread) {
		f.Entries, f.Lines = append(f.Entries, e), append(f.Lines, len(f.Entries)+2)
	}
	return f, p, nil
}

func (d Dialect) packed(thread string, s *sources) (*core.File, *packing, error) {
	h, err := d.Header(headerOf(s.byThread[thread][0].meta))
	if err != nil {
		return nil, nil, err
	}
	f := &core.File{Dialect: dialectName, Header: h, Version: s.byThread[thread][0].meta.mode, Exact: true}
	p := &packing{w: envelope.Writer{Whole: true}, places: map[string]place{}}
	ends := s.ends(thread)
	for _, file := range s.session(thread) {
		path := homePath(file.name)
		if bundle.CheckPath(path) != nil {
			continue
		}
		data := file.data
		if file.meta.thread != thread && s.starter(file.meta.thread) != thread {
			end, used := ends[file.path]
			if !used {
				continue
			}
			data = data[:min(int64(len(data)), end)]
		} else {
			p.places[file.path] = place{path: path, inTree: s.starter(file.meta.thread) != thread}
		}
		es, err := packLines(&p.w, path, data, s.starter(file.meta.thread) != thread)
		if err != nil {
			return nil, nil, err
		}
		f.Entries = append(f.Entries, es...)
	}
	for i := range f.Entries {
		f.Lines = append(f.Lines, i+2)
	}
	for _, files := range s.byThread {
		for _, file := range files {
			if _, ok := p.places[file.path]; !ok {
				p.places[file.path] = place{}
			}
		}
	}
	return f, p, nil
}

// Scope is all: sub-agents and forks may begin on another day.
func (Dialect) Scope(string) string { return "." }

// A packing packs the rest of a session's files.
type packing struct {
	w      envelope.Writer
	places map[string]place // by the path of a file
}

// A place is where the lines of a file are in the log; the zero place if the
// session does not continue the file any further.
type place struct {
	path   string
	inTree bool
}

// Add implements bundle.Packing. A new file may be one that the thread continues,
// or of a sub-agent, or of another thread.
func (p *packing) Add(path string, data []byte) ([]core.Entry, bool, error) {
	at, ok := p.places[path]
	if !ok || isPacked(data) {
		return nil, false, nil
	}
	if at.path == "" {
		return nil, true, nil
	}
	es, err := packLines(&p.w, at.path, data, at.inTree)
	return es, true, err
}

// Whole is true for compressed rollouts.
func (Dialect) Whole(path string) bool { return !strings.HasSuffix(path, rolloutSuffix) }

// ends returns how much of each file of another thread the session of thread
// continues.
func (s *sources) ends(thread string) map[string]int64 {
	ends := map[string]int64{}
	todo := slices.Clone(s.byThread[thread])
	for len(todo) > 0 {
		f := todo[0]
		todo = todo[1:]
		b := f.meta.base
		if b == nil {
			continue
		}
		of := s.baseOf(&f, *b)
		if of == nil || of.meta.thread == thread {
			continue
		}
		end, seen := ends[of.path]
		ends[of.path] = max(end, b.end)
		if !seen {
			todo = append(todo, *of)
		}
	}
	return ends
}

func (s *sources) baseOf(f *source, b base) *source {
	var files []baseFile
	var found []*source
	for i := range s.byThread[b.thread] {
		o := &s.byThread[b.thread][i]
		if o.path == f.path || !b.isIn(o.name) {
			continue
		}
		found = append(found, o)
		files = append(files, baseFile{o.name, firstLine(o.data), func() []byte { return o.lineBefore(b.end) }})
	}
	if i := pickBase(files, b); i >= 0 {
		return found[i]
	}
	return nil
}

// lineBefore returns the line that ends at the byte end of the file, or nil if
// none does.
func (f *source) lineBefore(end int64) []byte {
	if end <= 0 || end > int64(len(f.data)) || f.data[end-1] != '\n' {
		return nil
	}
	line := f.data[:end-1]
	return line[bytes.LastIndexByte(line, '\n')+1:]
}

// maxNoise is how many lines of a file may be no JSON objects. An entry is much
// longer than an empty line.
const maxNoise = 1 << 16

// packLines returns the entries of a file. Returns core.ErrInvalid if more than
// maxNoise of its lines are not JSON objects.
func packLines(w *envelope.Writer, path string, data []byte, inTree bool) ([]core.Entry, error) {
	var es []core.Entry
	noise := 0
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		r, isObject := readRecord(line)
		if !isObject {
			noise++
		}
		if noise > maxNoise {
			return nil, fmt.Errorf("more than %d lines of %s are not JSON objects: %w", maxNoise, path, core.ErrInvalid)
		}
		es = append(es, w.Line(envelope.Piece{InTree: inTree, Path: path, Kind: jsonl.Clip(r.kind, maxID), Time: jsonl.Clip(r.time, maxID), Bytes: line})...)
		if !ended {
			es = append(es, w.Open(path, line))
		}
		data = rest
	}
	return es, nil
}

// headerOf makes the header of the session whose first file begins with m.
func headerOf(m meta) []byte {
	f := core.HeaderFields{ID: m.thread, Time: m.time, CWD: m.cwd, Parent: m.forkedFrom}
	if m.parent != "" {
		f.Parent = envelope.AgentParent(m.parent)
	}
	return Dialect{}.NewHeader(f)
}

// homePath is where Codex keeps a file below its home: in the folder of its day.
func homePath(n rolloutName) string {
	file := rolloutPrefix + n.when + "-" + n.thread
	if n.rollout != "" {
		file += "_" + n.rollout
	}
	return "sessions/" + n.when[:4] + "/" + n.when[5:7] + "/" + n.when[8:10] + "/" + file + rolloutSuffix
}
