package opencode

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Unpack returns events.json, if the log has the session's events, and
// export.json. Both are byte for byte those that were imported, but for the
// session's directory if cwd is another, and for what came later. A session that
// was made in the log, such as a fork, has an export only.
func (Dialect) Unpack(h core.Header, es []core.Entry, cwd string) ([]bundle.File, error) {
	c, err := envelope.Read(es, func(core.Entry) string { return eventsFile })
	if err != nil {
		return nil, err
	}
	if cwd == h.CWD {
		cwd = ""
	}
	var files []bundle.File
	if data := eventsOf(c, h, es, cwd); data != nil {
		files = append(files, bundle.File{Path: eventsFile, Data: data})
	}
	data := storedExport(c, es)
	if data == nil {
		data = exported(h, es)
	}
	if cwd != "" {
		data = movedExport(data, cwd)
	}
	return append(files, bundle.File{Path: exportFile, Data: data}), nil
}

// eventsOf returns the list of events, or nil if the log has none.
func eventsOf(c *envelope.Contents, h core.Header, es []core.Entry, cwd string) []byte {
	l := list{uniform: true, open: plainOpen, comma: plainComma, close: plainClose}
	for _, e := range es {
		if e.Type == typeLayout {
			l = readLayout(e.Line)
		}
	}
	some := false
	for _, line := range c.Lines {
		if line.Path != eventsFile {
			continue
		}
		ev, ok := readEvent(line.Bytes)
		switch {
		case !ok && !envelope.IsOurs(line.Entry.Line):
			continue // made in the log
		case ok && ev.session != h.ID && !line.Entry.Aside:
			return nil // a copy of another session
		}
		some = true
		if ok && cwd != "" && ev.session == h.ID {
			line.Bytes = moved(ev, Place{Directory: cwd})
		}
		l.items = append(l.items, line.Bytes)
	}
	if !some {
		return nil
	}
	for _, f := range c.Files {
		if stored, err := readList(f.Data); f.Path == eventsFile && err == nil && cwd == "" && len(stored.items) == len(l.items) {
			return f.Data
		}
	}
	return l.text()
}

// moved returns an event with the session's directory replaced.
func moved(ev event, to Place) []byte {
	if !strings.HasPrefix(ev.kind, "session.") {
		return ev.raw
	}
	return jsonl.Replace(ev.raw, "data", func(data []byte) []byte {
		return jsonl.Replace(data, "info", func(info []byte) []byte { return to.row(info) })
	})
}

func movedExport(data []byte, cwd string) []byte {
	return jsonl.Replace(data, "info", Place{Directory: cwd}.row)
}

// A Place is where opencode keeps a session to be.
type Place struct {
	Directory string // absolute
	Root      string // of the project, above Directory; default "/", which is right without a repository
	Project   string // opencode's id of the project; empty to keep the session's
}

// row returns the row of a session that is at p.
func (p Place) row(info []byte) []byte {
	info = jsonl.WithText(info, "directory", p.Directory)
	if p.Project != "" {
		info = jsonl.WithText(info, "projectID", p.Project)
	}
	return jsonl.WithText(info, "path", strings.TrimPrefix(strings.TrimPrefix(p.Directory, p.Root), "/"))
}

// storedExport returns the export that was imported, unless the session changed
// since.
func storedExport(c *envelope.Contents, es []core.Entry) []byte {
	for i := len(es) - 1; i >= 0; i-- {
		if p, ours, err := envelope.Open(es[i].Line); ours && err == nil && p.IsFile() && p.Path == exportFile {
			break
		}
		if !es[i].Aside || es[i].Type == typeName {
			return nil
		}
	}
	for _, f := range c.Files {
		if f.Path == exportFile {
			return f.Data
		}
	}
	return nil
}

// exported returns the session as opencode export writes it.
func exported(h core.Header, es []core.Entry) []byte {
	s := fold(h, es)
	s.adopt()
	return s.document()
}

// document returns s as opencode export writes it, with the members of rows in
// the order they have.
func (s *state) document() []byte {
	b := append([]byte(`{"info":`), orNull(s.info)...)
	b = append(b, `,"messages":[`...)
	for i, m := range s.ordered() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.document()...)
	}
	b = append(b, "]}"...)
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") != nil {
		return b
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// document returns m as an export has it, without white space around its rows.
func (m *message) document() []byte {
	b := append([]byte(`{"info":`), m.info...)
	b = append(b, `,"parts":[`...)
	for i, p := range m.ordered() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p.row...)
	}
	return append(b, "]}"...)
}

func orNull(v jsjson.Value) jsjson.Value {
	if v == nil {
		return jsjson.Value("null")
	}
	return v
}

// Layout returns the lines of the export.
func (Dialect) Layout(h core.Header, es []core.Entry) []core.Entry {
	c, err := envelope.Read(es, func(core.Entry) string { return eventsFile })
	var data []byte
	if err == nil {
		data = storedExport(c, es)
	}
	if data == nil {
		data = exported(h, es)
	}
	var lines []core.Entry
	for _, line := range jsonl.Numbered(data) {
		lines = append(lines, core.Entry{Line: line})
	}
	return lines
}

// FileName is empty: opencode has no files of sessions.
func (Dialect) FileName(core.Header) (dir, name string) { return "", "" }
