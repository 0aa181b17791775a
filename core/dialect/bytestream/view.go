package bytestream

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
)

// own is what only streams have.
type own struct {
	Config
	Offset int64 `json:"offset"`
	Closed bool  `json:"closed"`
}

// Info describes the stream. Its name is its path.
func (d Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	c, err := ReadConfig(h.Line)
	if err != nil {
		return display.Info{}, err
	}
	path, err := d.Path(es, leaf)
	if err != nil {
		return display.Info{}, err
	}
	info := display.Info{
		Header: bytes.TrimSpace(h.Line), Version: version, SessionID: h.ID, Name: &c.Path,
		EntryCount: len(es), Types: map[string]int{}, Labels: map[string]string{},
	}
	if n := len(path); n > 0 && path[n-1].ID != "" {
		info.LeafID = &path[n-1].ID
	}
	for i := range es {
		info.Types[es[i].Type]++
	}
	var st State
	st.Add(es)
	info.Own = jsonl.Marshal(own{c, st.Tail, st.Closed})
	return info, nil
}

// Context returns {"messages":[…]}: the values of a stream of JSON, otherwise one text or
// base64 per append.
func (d Dialect) Context(es []core.Entry, leaf core.Leaf) (json.RawMessage, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	out := struct {
		Messages []any `json:"messages"`
	}{[]any{}}
	for i := range path {
		l, err := ReadLine(path[i].Line)
		switch {
		case err != nil || l.Type != TypeAppend:
		case l.JSON != nil:
			for _, v := range l.JSON {
				out.Messages = append(out.Messages, v)
			}
		case l.Text != nil:
			out.Messages = append(out.Messages, *l.Text)
		default:
			out.Messages = append(out.Messages, l.Base64)
		}
	}
	return jsonl.Marshal(out), nil
}

// Summary counts the appends. First is the beginning of the first text, and the name is
// the path.
func (d Dialect) Summary(h core.Header, es []core.Entry) display.Summary {
	sum := display.Summary{Created: h.Time, Modified: h.Time}
	if c, err := ReadConfig(h.Line); err == nil {
		sum.Name = c.Path
	}
	for i := range es {
		if es[i].Aside {
			continue
		}
		if es[i].Time > sum.Modified {
			sum.Modified = es[i].Time
		}
		if es[i].Type != TypeAppend {
			continue
		}
		sum.Messages++
		if sum.First == "" {
			sum.First = firstText(d.Read(es[i]))
		}
	}
	return sum
}

func firstText(its []item.Item) string {
	for _, it := range its {
		for _, b := range it.Blocks {
			if s := strings.TrimSpace(b.Text); s != "" {
				return listing.First(s)
			}
		}
	}
	return ""
}

// message is a JSON value that says who speaks.
type message struct {
	Role    item.Role       `json:"role"`
	Content json.RawMessage `json:"content"`
}

// Read returns a message for each value of JSON that has a role and a text as content,
// and a note for other values and texts. Read returns nothing for
// binary bodies.
func (Dialect) Read(e core.Entry) []item.Item {
	l, err := ReadLine(e.Line)
	if err != nil || l.Type != TypeAppend {
		return nil
	}
	if l.Text != nil {
		return []item.Item{note(l.Time, *l.Text)}
	}
	var its []item.Item
	for _, v := range l.JSON {
		its = append(its, valueItem(l.Time, v))
	}
	return its
}

func valueItem(at string, v json.RawMessage) item.Item {
	var m message
	var text string
	if json.Unmarshal(v, &m) != nil || json.Unmarshal(m.Content, &text) != nil {
		return note(at, string(v))
	}
	switch m.Role {
	case item.RoleSystem, item.RoleUser, item.RoleAssistant:
		return item.Item{Kind: item.Message, Time: at, Role: m.Role, Blocks: []item.Block{{Kind: item.BlockText, Text: text}}}
	}
	return note(at, string(v))
}

func note(at, text string) item.Item {
	return item.Item{Kind: item.Note, Time: at, Type: name, Blocks: []item.Block{{Kind: item.BlockText, Text: text}}}
}

// Write makes an append of one JSON value with a role and a text. It returns nil for what
// is not said by anyone. Only texts have a place in it.
func (Dialect) Write(it item.Item) (line []byte, lost []string) {
	m := message{Role: it.Role}
	var texts []string
	blocks := it.Blocks
	switch it.Kind {
	case item.Message:
		if it.Role == item.RoleAssistant {
			lost = it.LostOfAnswer()
		}
	case item.Note:
		m.Role = item.RoleUser
	case item.Compaction, item.Branch:
		lost = it.LostOfSummary()
		m.Role, blocks = item.RoleUser, []item.Block{{Kind: item.BlockText, Text: it.Text}}
	default:
		return nil, nil
	}
	for _, b := range blocks {
		if b.Kind != item.BlockText {
			lost = append(lost, string(b.Kind))
			continue
		}
		if b.Signature != "" {
			lost = append(lost, "a provider's signature on a text")
		}
		texts = append(texts, b.Text)
	}
	if it.Details != nil {
		lost = append(lost, "details")
	}
	m.Content = jsonl.Marshal(strings.Join(texts, "\n"))
	return NewValues([]json.RawMessage{jsonl.Marshal(m)}).Encode(), lost
}
