package claude

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/newid"
)

// Bundles groups main files and their companions. Other JSON files whose names
// are UUIDs are not taken, unless they begin like a session of the agent.
func (d Dialect) Bundles(paths []string, read func(string) []byte) []bundle.Bundle {
	at := map[string]int{} // by the path of the main file without .jsonl
	var all []bundle.Bundle
	for _, p := range paths {
		stem, ok := strings.CutSuffix(p, suffix)
		if ok && newid.IsUUID(path.Base(stem)) && d.isSession(read(p)) {
			at[stem] = len(all)
			all = append(all, bundle.Bundle{Main: p, Files: []string{p}})
		}
	}
	if len(all) == 0 {
		return nil
	}
	var others bundle.Bundle
	for _, p := range paths {
		if _, ok := at[strings.TrimSuffix(p, suffix)]; ok {
			continue
		}
		if i, ok := owner(p, at, read); ok {
			all[i].Files = append(all[i].Files, p)
			continue
		}
		if isOther(p, read) {
			others.Files = append(others.Files, p)
		}
	}
	if len(others.Files) > 0 {
		all = append(all, others)
	}
	return all
}

// isOther reports whether p is a file that the agent keeps for all sessions, or
// has lines of the agent under a name that it does not look for.
func isOther(p string, read func(string) []byte) bool {
	switch path.Ext(p) {
	case suffix:
		data := read(p)
		return bytes.HasPrefix(data, []byte(`{"display":`)) || !envelope.IsPacked(name, data) && sessionIDOf(data) != ""
	case ".json":
		return path.Base(path.Dir(p)) == "sessions" && bytes.HasPrefix(read(p), []byte(`{"pid":`))
	}
	return false
}

// owner returns the session that the file p is a companion of.
func owner(p string, at map[string]int, read func(string) []byte) (int, bool) {
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if i, ok := at[dir]; ok {
			return i, true
		}
	}
	base := path.Base(p)
	if !strings.HasPrefix(base, "agent-") || !strings.HasSuffix(base, suffix) {
		return 0, false
	}
	id := sessionIDOf(read(p)) // as old versions kept the transcripts of sub-agents
	i, ok := at[path.Join(path.Dir(p), id)]
	return i, ok && id != ""
}

// isSession reports whether data begins like a main file.
func (d Dialect) isSession(data []byte) bool { return d.Detect(data) && !envelope.IsPacked(name, data) }

// Pack implements bundle.Bundler. The session's id is the name of the main file.
func (d Dialect) Pack(main string, files []bundle.File) (*core.File, error) {
	f, _, err := d.Begin(main, files)
	return f, err
}

// Begin implements bundle.Packer.
func (Dialect) Begin(main string, files []bundle.File) (*core.File, bundle.Packing, error) {
	id := strings.TrimSuffix(path.Base(main), suffix)
	i := slices.IndexFunc(files, func(f bundle.File) bool { return f.Path == main })
	if !newid.IsUUID(id) || i < 0 {
		return nil, nil, fmt.Errorf("%s is not the main file of a claude session: %w", jsonl.Clip(main, 120), core.ErrInvalid)
	}
	w := &packer{main: main}
	w.mainFile(files[i].Data)
	for j, f := range files {
		if j == i {
			continue
		}
		p := inLog(main, f.Path)
		if err := bundle.CheckPath(p); err != nil {
			return nil, nil, err
		}
		w.companion(p, f.Data)
	}
	f := w.file(id)
	w.entries, w.lines = nil, nil
	return f, w, nil
}

// Scope is the folder of the working directory.
func (Dialect) Scope(main string) string { return path.Dir(main) }

// Add implements bundle.Packing.
func (w *packer) Add(file string, data []byte) ([]core.Entry, bool, error) {
	p := inLog(w.main, file)
	if err := bundle.CheckPath(p); err != nil {
		return nil, false, err
	}
	if p == mainPath {
		w.mainFile(data)
	} else {
		w.companion(p, data)
	}
	es := w.entries
	w.entries, w.lines = nil, nil
	return es, true, nil
}

// Whole reports whether the file is an output of a tool, for example.
func (Dialect) Whole(file string) bool { return !strings.HasSuffix(file, suffix) }

// A packer makes the entries of a session's files.
type packer struct {
	envelope.Writer
	main    string
	entries []core.Entry
	lines   []int // of the entries, in their files
	seen    map[string]bool
	cwd     string
	time    string
}

// mainFile adds the lines of the main file.
func (w *packer) mainFile(data []byte) {
	most := jsonl.CountUpTo(data)
	if w.seen == nil {
		w.seen = make(map[string]bool, most)
	}
	w.entries, w.lines = slices.Grow(w.entries, most), slices.Grow(w.lines, most)
	w.each(mainPath, data, func(n int, line []byte) {
		r := readLine(line)
		if w.cwd == "" {
			w.cwd = text(r.cwd)
		}
		if w.time == "" {
			w.time = r.time
		}
		if r.ok && r.uuid != "" && len(r.uuid) <= core.MaxEntryID && !w.seen[r.uuid] && !envelope.IsOurs(line) {
			w.seen[r.uuid] = true
			w.add(n, r.entry(line))
			return
		}
		w.add(n, w.Line(envelope.Piece{Path: mainPath, Kind: r.kind, Time: r.time, Bytes: line})...)
	})
}

// companion adds any other file, line by line if it has lines that may grow.
func (w *packer) companion(p string, data []byte) {
	if !strings.HasSuffix(p, suffix) || len(data) == 0 {
		w.add(0, w.File(p, data)...)
		return
	}
	w.each(p, data, func(n int, line []byte) {
		w.add(n, w.Line(envelope.Piece{Path: p, Kind: "sesslog." + path.Ext(p)[1:], Bytes: line})...)
	})
}

// each calls add with each line of a file, and adds the mark of a missing newline.
func (w *packer) each(p string, data []byte, add func(n int, line []byte)) {
	last := []byte(nil)
	for n, line := range jsonl.Numbered(data) {
		add(n, line)
		last = line
	}
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		w.add(0, w.Open(p, last))
	}
}

// add adds the entries of a line of a file.
func (w *packer) add(line int, es ...core.Entry) {
	for _, e := range es {
		w.entries = append(w.entries, e)
		w.lines = append(w.lines, line)
	}
}

// file returns the session.
func (w *packer) file(id string) *core.File {
	f := core.HeaderFields{ID: id, Time: w.time, CWD: w.cwd}
	line := envelope.NewHeader(name, f)
	h := core.Header{Line: line, ID: id, CWD: w.cwd, Time: w.time}
	return &core.File{Dialect: name, Header: h, Entries: w.entries, Lines: w.lines, Version: "1", Exact: true}
}

// Unpack implements bundle.Bundler. Paths begin with projects/.
func (Dialect) Unpack(h core.Header, es []core.Entry, cwd string) ([]bundle.File, error) {
	c, err := envelope.Read(es, mainOf)
	if err != nil {
		return nil, err
	}
	if cwd != "" {
		h.CWD = cwd
	}
	dir, _ := Dialect{}.FileName(h)
	id := fileID(h.ID)
	all := c.All()
	for i, f := range all {
		p, ok := onDisk(id, f.Path)
		if p = "projects/" + dir + "/" + p; !ok || bundle.CheckPath(p) != nil {
			return nil, fmt.Errorf("file %q is not one of a claude session: %w", jsonl.Clip(f.Path, 80), core.ErrInvalid)
		}
		all[i].Path = p
	}
	return all, nil
}
