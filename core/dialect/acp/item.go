package acp

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/item"
)

// A block is a content block of the protocol.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	Data     string `json:"data,omitempty"`
	URI      string `json:"uri,omitempty"`
	Resource *struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource,omitempty"`
}

func readBlock(raw json.RawMessage) (item.Block, bool) {
	var b block
	if json.Unmarshal(raw, &b) != nil {
		return item.Block{}, false
	}
	switch b.Type {
	case "text":
		return item.Block{Kind: item.BlockText, Text: b.Text}, true
	case "image":
		return item.Block{Kind: item.BlockImage, MIME: b.MIMEType, Data: b.Data}, true
	case "audio":
		return item.Block{Kind: item.BlockAudio, MIME: b.MIMEType, Data: b.Data}, true
	case "resource_link":
		return item.Block{Kind: item.BlockText, Text: b.URI}, true
	case "resource":
		if b.Resource != nil {
			return item.Block{Kind: item.BlockText, Text: strings.TrimSpace(b.Resource.URI + "\n" + b.Resource.Text)}, true
		}
	}
	return item.Block{}, false
}

// A talk makes items of updates.
type talk struct {
	its   []item.Item
	calls map[string]*update // what is known of calls without a result
}

// Read returns a message for the chunks of an entry, and calls and results of tools.
func (Dialect) Read(e core.Entry) []item.Item {
	l, err := ReadLine(e.Line)
	if err != nil {
		return nil
	}
	t := talk{}
	for _, u := range updatesOf(&l) {
		t.add(u)
	}
	return t.its
}

// ReadAll implements optional.Narrator: the chunks of a message are one message, and a
// call has one result.
func (d Dialect) ReadAll(_ core.Header, es []core.Entry, leaf core.Leaf) ([]item.Item, error) {
	path, err := d.Path(es, leaf)
	if err != nil {
		return nil, err
	}
	t := talk{}
	for _, u := range conversation(path) {
		t.add(u)
	}
	return t.its, nil
}

func (t *talk) add(u update) {
	switch u.Kind {
	case userChunk, agentChunk, thoughtChunk:
		b, ok := readBlock(u.Content)
		if !ok {
			return
		}
		role := item.RoleAssistant
		if u.Kind == userChunk {
			role = item.RoleUser
		}
		if u.Kind == thoughtChunk && b.Kind == item.BlockText {
			b.Kind = item.BlockThinking
		}
		t.say(u.at, role, b)
	case toolCall, toolUpdate:
		t.tool(u)
	case sessionInfo:
		if u.Title != nil {
			t.its = append(t.its, item.Item{Kind: item.Name, Time: u.at, Text: *u.Title})
		}
	}
}

// say adds a block to the last message if that has the same speaker. Texts are joined.
func (t *talk) say(at string, role item.Role, b item.Block) {
	n := len(t.its) - 1
	if n < 0 || t.its[n].Kind != item.Message || t.its[n].Role != role {
		t.its = append(t.its, item.Item{Kind: item.Message, Time: at, Role: role, Blocks: []item.Block{b}})
		return
	}
	blocks := t.its[n].Blocks
	last := &blocks[len(blocks)-1]
	if last.Kind == b.Kind && role == item.RoleAssistant && (b.Kind == item.BlockText || b.Kind == item.BlockThinking) {
		last.Text += b.Text
		return
	}
	t.its[n].Blocks = append(blocks, b)
}

// tool adds the call when it is first heard of, and its result when it has ended.
func (t *talk) tool(u update) {
	known := t.calls[u.CallID]
	if known == nil {
		if t.calls == nil {
			t.calls = map[string]*update{}
		}
		known = &update{ToolKind: toolName(u)}
		t.calls[u.CallID] = known
		if u.Kind == toolCall {
			t.say(u.at, item.RoleAssistant, item.Block{Kind: item.BlockCall, ID: u.CallID, Name: known.ToolKind, Args: argsOf(u)})
			known.place = [2]int{len(t.its) - 1, len(t.its[len(t.its)-1].Blocks)}
		}
	} else if at := known.place; at[1] > 0 && isObject(u.RawInput) { // agents send the call before its input is complete
		t.its[at[0]].Blocks[at[1]-1].Args = u.RawInput
	}
	if u.Content != nil {
		known.Content = u.Content
	}
	if u.RawOutput != nil {
		known.RawOutput = u.RawOutput
	}
	if known.Status != "" || u.Status != "completed" && u.Status != "failed" {
		return
	}
	known.Status = u.Status
	t.its = append(t.its, item.Item{Kind: item.Message, Time: u.at, Role: item.RoleTool, Blocks: []item.Block{{
		Kind: item.BlockResult, ID: u.CallID, Name: known.ToolKind, Failed: u.Status == "failed", Blocks: resultOf(known),
	}}})
}

// isName matches the names of tools that models' providers accept.
var isName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString

// toolName returns the kind of a tool, or its title if that could be a name.
func toolName(u update) string {
	switch {
	case isName(u.ToolKind):
		return u.ToolKind
	case u.Title != nil && isName(*u.Title):
		return *u.Title
	}
	return "tool"
}

func isObject(v json.RawMessage) bool { return len(v) > 0 && v[0] == '{' }

// argsOf returns the input of a call, or an object with its title.
func argsOf(u update) json.RawMessage {
	if isObject(u.RawInput) {
		return u.RawInput
	}
	title := map[string]string{}
	if u.Title != nil {
		title["title"] = *u.Title
	}
	return jsonl.Marshal(title)
}

// resultOf returns what a call showed, or else its raw output.
func resultOf(u *update) (blocks []item.Block) {
	var parts []struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
		Path    string          `json:"path"`
		NewText string          `json:"newText"`
	}
	_ = json.Unmarshal(u.Content, &parts) // without content there are no parts
	for _, p := range parts {
		switch p.Type {
		case "content":
			if b, ok := readBlock(p.Content); ok {
				blocks = append(blocks, b)
			}
		case "diff":
			blocks = append(blocks, item.Block{Kind: item.BlockText, Text: p.Path + "\n" + p.NewText})
		}
	}
	if blocks == nil && len(u.RawOutput) > 0 {
		blocks = []item.Block{{Kind: item.BlockText, Text: string(u.RawOutput)}}
	}
	return blocks
}

// Write makes a line of updates, as an agent would send them.
func (Dialect) Write(it item.Item) (line []byte, lost []string) {
	var us []json.RawMessage
	add := func(kind string, b item.Block) {
		c, what := writeBlock(b)
		lost = append(lost, what...)
		if c != nil {
			us = append(us, notification(chunk(kind, c)))
		}
	}
	switch it.Kind {
	case item.Message:
		if it.Role == item.RoleAssistant {
			lost = it.LostOfAnswer()
		}
	case item.Note:
	case item.Compaction, item.Branch:
		lost = it.LostOfSummary()
		it.Blocks = []item.Block{{Kind: item.BlockText, Text: it.Text}}
	case item.Name:
		return Dialect{}.NewName(it.Text), nil
	default:
		return nil, nil
	}
	for _, b := range it.Blocks {
		switch b.Kind {
		case item.BlockCall:
			us = append(us, notification(jsonl.Marshal(written{Kind: toolCall, ID: b.ID, Title: &b.Name, Status: "in_progress", Input: b.Args})))
		case item.BlockResult:
			r, what := writeResult(b)
			us, lost = append(us, notification(jsonl.Marshal(r))), append(lost, what...)
		case item.BlockThinking:
			if b.Hidden {
				lost = append(lost, "a hidden thought")
				continue
			}
			add(thoughtChunk, b)
		default:
			if it.Kind == item.Message && it.Role == item.RoleAssistant {
				add(agentChunk, b)
			} else {
				add(userChunk, b)
			}
		}
		if b.Signature != "" {
			lost = append(lost, "a provider's signature")
		}
	}
	if it.Details != nil {
		lost = append(lost, "details")
	}
	if us == nil {
		return nil, lost
	}
	return NewLine(TypeUpdate, us...), lost
}

// written is an update of a tool as Write makes it.
type written struct {
	Kind    string          `json:"sessionUpdate"`
	ID      string          `json:"toolCallId"`
	Title   *string         `json:"title,omitempty"`
	Status  string          `json:"status,omitempty"`
	Content []shown         `json:"content,omitempty"`
	Input   json.RawMessage `json:"rawInput,omitempty"`
}

type shown struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
}

func writeResult(b item.Block) (w written, lost []string) {
	w = written{Kind: toolUpdate, ID: b.ID, Status: "completed"}
	if b.Failed {
		w.Status = "failed"
	}
	for _, c := range b.Blocks {
		raw, what := writeBlock(c)
		lost = append(lost, what...)
		if raw != nil {
			w.Content = append(w.Content, shown{"content", raw})
		}
	}
	if b.Details != nil {
		lost = append(lost, "details of a result")
	}
	return w, lost
}

func writeBlock(b item.Block) (raw json.RawMessage, lost []string) {
	switch b.Kind {
	case item.BlockText, item.BlockThinking:
		return jsonl.Marshal(map[string]string{"type": "text", "text": b.Text}), nil
	case item.BlockImage, item.BlockAudio:
		return jsonl.Marshal(block{Type: string(b.Kind), MIMEType: b.MIME, Data: b.Data}), nil
	}
	return nil, []string{string(b.Kind)}
}

func notification(update []byte) json.RawMessage {
	b := append([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"update":`), update...)
	return append(b, "}}"...)
}
