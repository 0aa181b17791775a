package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// A Dialect is the dialect of ACP sessions. It keeps no state.
type Dialect struct{ frame.Lines }

var (
	_ core.Dialect       = Dialect{}
	_ usage.Reporter     = Dialect{}
	_ optional.Checker   = Dialect{}
	_ optional.Narrator  = Dialect{}
	_ optional.Relocator = Dialect{}
)

const name = "acp"

// Name is "acp".
func (Dialect) Name() string { return name }

// Detect reports whether the first line is a header.
func (Dialect) Detect(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	_, err := readHeader(first)
	return err == nil
}

// File reads a header and the lines after it.
func (d Dialect) File(data []byte) (*core.File, error) {
	return frame.File(d, data, fmt.Sprint(Version))
}

// Header reads a header line.
func (Dialect) Header(line []byte) (core.Header, error) {
	h, err := readHeader(line)
	if err != nil {
		return core.Header{}, err
	}
	out := core.Header{Line: line, ID: h.ID, Time: h.Time, CWD: h.CWD}
	if h.Parent != "" {
		out.Parents = []string{h.Parent}
	}
	return out, nil
}

// Entry reads any other line.
func (Dialect) Entry(line []byte) (core.Entry, error) {
	l, err := ReadLine(line)
	if err != nil {
		return core.Entry{}, err
	}
	return core.Entry{Line: line, ID: l.ID, Type: l.Type, Time: l.Time, Aside: l.Type == TypeAgent}, nil
}

// Check implements optional.Checker: a line is of a known type and has the messages of
// this type.
func (Dialect) Check(line []byte) error {
	l, err := ReadLine(line)
	if err != nil {
		return err
	}
	most := 1
	switch l.Type {
	case TypeUpdate:
		most = len(l.Messages)
	case TypePrompt, TypeAnswer:
	case TypeAgent:
		if len(l.Messages) > 0 {
			return fmt.Errorf("a line of type agent has no messages: %w", core.ErrInvalid)
		}
		return nil
	default:
		return fmt.Errorf("type %.40q is not one of an ACP session: %w", l.Type, core.ErrInvalid)
	}
	if len(l.Messages) < 1 || len(l.Messages) > most {
		return fmt.Errorf("a line of type %s has %d messages: %w", l.Type, len(l.Messages), core.ErrInvalid)
	}
	for _, m := range l.Messages {
		if !bytes.HasPrefix(m, []byte("{")) {
			return fmt.Errorf("a message is no object: %w", core.ErrInvalid)
		}
	}
	return nil
}

// Fill adds id and time at the end of a line that lacks them.
func (d Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	if _, err := d.Entry(line); err != nil {
		return core.Entry{}, err
	}
	return d.Entry(jsonl.Complete(line, jsonl.Member{Name: "id", Value: jsonl.Quoted(f.ID)}, jsonl.Member{Name: "timestamp", Value: jsonl.Quoted(f.Time)}))
}

// NewHeader makes the header of a session.
func (Dialect) NewHeader(f core.HeaderFields) []byte {
	return jsonl.Marshal(header{Type: TypeHeader, Version: Version, ID: f.ID, Time: f.Time, CWD: f.CWD, Parent: f.Parent})
}

// NewLabel returns nil: the protocol has no labels.
func (Dialect) NewLabel(string, string) []byte { return nil }

// NewName makes the update that gives the session a title.
func (Dialect) NewName(to string) []byte {
	title := jsonl.Marshal(to)
	if to == "" {
		title = []byte("null")
	}
	return NewLine(TypeUpdate, notification([]byte(`{"sessionUpdate":"`+sessionInfo+`","title":`+string(title)+`}`)))
}

// WithCWD implements optional.Relocator.
func (Dialect) WithCWD(line []byte, cwd string) []byte { return jsonl.WithText(line, "cwd", cwd) }

// FileName is the id of the session and ".jsonl".
func (Dialect) FileName(h core.Header) (dir, file string) {
	return "", string(core.SessionIDFor(name, h.ID)) + ".jsonl"
}

// Keeps reports whether something was said.
func (Dialect) Keeps(es []core.Entry) bool {
	for i := range es {
		if es[i].Type == TypePrompt {
			return true
		}
	}
	return false
}

// own is what only sessions of this dialect have.
type own struct {
	Agent AgentSession `json:"agent"`
}

// Info describes the session. Its name is the last title.
func (d Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return display.Info{}, err
	}
	info := display.Info{
		Header: bytes.TrimSpace(h.Line), Version: json.RawMessage(fmt.Sprint(Version)), SessionID: h.ID, CWD: h.CWD,
		EntryCount: len(es), Types: map[string]int{}, Labels: map[string]string{}, Own: jsonl.Marshal(own{LastAgent(es)}),
	}
	if n := len(path); n > 0 && path[n-1].ID != "" {
		info.LeafID = &path[n-1].ID
	}
	for i := range es {
		info.Types[es[i].Type]++
	}
	if title := d.Summary(h, es).Name; title != "" {
		info.Name = &title
	}
	return info, nil
}

// Context returns {"updates":[…]}: what session/load shows an editor.
func (d Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	return jsonl.Marshal(struct {
		Updates []json.RawMessage `json:"updates"`
	}{Replay(path)}), nil
}

// Summary counts prompts and answers. First is the beginning of the first text of the
// user, and the name is the last title.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	sum := display.Summary{Created: h.Time, Modified: h.Time}
	for i := range es {
		e := es[i]
		if e.Aside {
			continue
		}
		if e.Time > sum.Modified {
			sum.Modified = e.Time
		}
		switch e.Type {
		case TypePrompt, TypeAnswer:
			sum.Messages++
		}
		for _, it := range d.Read(e) {
			if it.Kind == item.Name {
				sum.Name = it.Text
			}
			if it.Kind == item.Message && it.Role == item.RoleUser && sum.First == "" {
				sum.First = firstText(it)
			}
		}
	}
	return sum
}

func firstText(it item.Item) string {
	for _, b := range it.Blocks {
		if s := strings.TrimSpace(b.Text); s != "" {
			return listing.First(s)
		}
	}
	return ""
}
