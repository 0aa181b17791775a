package opencode

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Pack makes one session of a list of events and an export of it, or of one of
// them. The events are the session if they begin with its creation; otherwise, as
// in a session that opencode imported, the export is.
func (d Dialect) Pack(main string, files []bundle.File) (*core.File, error) {
	p := &packer{d: d, seen: map[string]bool{}}
	for _, want := range []form{events, export} {
		for _, f := range files {
			is, id := formOf(f.Data)
			if is != want || p.id != "" && id != p.id || p.has[is] {
				continue
			}
			if p.id == "" && !hasMain(files, main, id) {
				continue
			}
			if err := p.file(is, id, f.Data); err != nil {
				return nil, fmt.Errorf("%s: %w", jsonl.Clip(f.Path, 80), err)
			}
		}
	}
	if p.id == "" {
		return nil, fmt.Errorf("%s is not an opencode session: %w", jsonl.Clip(main, 80), core.ErrInvalid)
	}
	return p.done()
}

// hasMain reports whether the main file is of the session called id.
func hasMain(files []bundle.File, main, id string) bool {
	for _, f := range files {
		if f.Path == main {
			_, of := formOf(f.Data)
			return of == id
		}
	}
	return false
}

// A packer makes the entries of one session.
type packer struct {
	d        Dialect
	w        envelope.Writer
	id       string
	info     jsjson.Value // the first row of the session
	has      [export + 1]bool
	complete bool // the events begin with the creation of the session
	version  string
	entries  []core.Entry
	seen     map[string]bool // ids of entries
}

func (p *packer) file(is form, id string, data []byte) error {
	p.id, p.has[is] = id, true
	p.w.Whole = true
	if is == events {
		return p.events(data)
	}
	return p.export(data)
}

func (p *packer) events(data []byte) error {
	l, err := readList(data)
	if err != nil {
		return err
	}
	switch {
	case !l.uniform:
		p.put(p.w.File(eventsFile, data)...)
	case !l.isPlain():
		if err := p.line(l.layout(), eventsFile); err != nil {
			return err
		}
	}
	for i, it := range l.items {
		ev, ok := readEvent(it)
		if i == 0 {
			p.complete = ok && ev.kind == typeCreated && ev.seq == 0
			p.info, p.version = member(ev.data, "info"), text(ev.data, "info", "version")
		}
		p.event(it, ev, ok && ev.session == p.id)
	}
	return nil
}

// event adds an event as it is if it can be an entry, otherwise in an envelope.
// One of another session, and what is no event, has no place in the tree.
func (p *packer) event(raw []byte, ev event, own bool) {
	own = own && !p.seen[ev.id] && len(ev.id) <= maxID
	if own && bytes.IndexByte(raw, '\n') < 0 && !envelope.IsOurs(raw) {
		if e, err := p.d.Entry(raw); err == nil && e.ID == ev.id && !e.Aside {
			p.put(e)
			return
		}
	}
	in := envelope.Piece{Path: eventsFile, Bytes: raw}
	if own {
		in.InTree, in.ID, in.Kind = true, ev.id, jsonl.Clip(ev.kind, maxID)
	}
	p.put(p.w.Line(in)...)
}

func (p *packer) put(es ...core.Entry) {
	for _, e := range es {
		p.seen[e.ID] = true
	}
	p.entries = append(p.entries, es...)
}

// line adds a line of ours, with an id that is derived from it.
func (p *packer) line(line []byte, path string) error {
	e, err := p.d.Fill(line, core.Fields{ID: p.w.ID("line", path, line)})
	if err == nil {
		p.put(e)
	}
	return err
}

// export adds an export: as it is if the events have its content, otherwise as
// rows, and as it is if these do not give it back.
func (p *packer) export(data []byte) error {
	var v [2]jsjson.Value
	if err := jsjson.Pick(data, []string{"info", "messages"}, v[:]); err != nil || v[0].Kind() != '{' {
		return fmt.Errorf("the export is truncated, or is not JSON: %w", core.ErrInvalid)
	}
	if p.complete {
		p.put(p.w.File(exportFile, data)...)
		return nil
	}
	p.info, p.version = v[0], text(v[0], "version")
	before := len(p.entries)
	if err := p.rows(v[0], v[1]); err != nil {
		return err
	}
	if !bytes.Equal(fold(core.Header{ID: p.id}, p.entries[before:]).document(), data) {
		p.put(p.w.File(exportFile, data)...)
	}
	return nil
}

// rows adds an entry for each message, and one that says that these are all.
func (p *packer) rows(info, messages jsjson.Value) error {
	var rows []byte
	var err error
	add := func(v jsjson.Value) {
		var b []byte
		if b, err = compact([]byte(`{"type":"`+typeMessages+`","messages":[`), v); err == nil {
			err = p.line(append(b, "]}"...), exportFile)
		}
		if err == nil {
			rows = jsjson.AppendString(append(rows, ','), p.entries[len(p.entries)-1].ID)
		}
	}
	_ = jsjson.Each(messages, func(v jsjson.Value) {
		if err == nil {
			add(v)
		}
	})
	if err != nil {
		return err
	}
	b, err := compact([]byte(`{"type":"`+typeExport+`","info":`), info)
	if err != nil {
		return err
	}
	b = append(append(b, `,"rows":[`...), bytes.TrimPrefix(rows, []byte(","))...)
	return p.line(append(b, "]}"...), exportFile)
}

// compact appends v without white space.
func compact(dst []byte, v jsjson.Value) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, v); err != nil {
		return nil, fmt.Errorf("%v: %w", err, core.ErrInvalid)
	}
	return append(dst, b.Bytes()...), nil
}

func (p *packer) done() (*core.File, error) {
	f := core.HeaderFields{ID: p.id, Time: isoTime(millis(p.info, "time", "created")), CWD: text(p.info, "directory")}
	if parent := text(p.info, "parentID"); parent != "" && len(parent) <= maxID {
		f.Parent = envelope.AgentParent(parent)
	}
	h, err := p.d.Header(p.d.NewHeader(f))
	if err != nil {
		return nil, err
	}
	file := &core.File{Dialect: dialectName, Header: h, Entries: p.entries, Version: jsonl.Clip(p.version, maxID), Exact: true}
	for i := range p.entries {
		file.Lines = append(file.Lines, i+2)
	}
	return file, nil
}

// File reads a session as the log has it, a list of events or an export.
func (d Dialect) File(data []byte) (*core.File, error) {
	if envelope.IsPacked(dialectName, data) {
		return envelope.File(d, data)
	}
	f, err := d.Pack(exportFile, []bundle.File{{Path: exportFile, Data: data}})
	if err == nil {
		f.Exact = bytes.Equal(core.Lines(d.Layout(f.Header, f.Entries)), data)
	}
	return f, err
}
