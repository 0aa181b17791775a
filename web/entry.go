package web

import (
	"bytes"
	"encoding/json"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
)

// An entry is what the page shows of one entry of a session.
type entry struct {
	Base    string // address of the session's pages; empty in an export
	ID      string
	Number  int // its place on the path, from 0
	Kind    string
	Who     string // the speaker, for people
	Model   string
	Time    string
	Blocks  []*block
	Tokens  int64 // of the answer
	Cost    float64
	images  int  // that were read
	adopted bool // a result of it is under its call
}

// A block is a part of an entry.
type block struct {
	Kind    string // text, thinking, call, result, image, mark, error
	Label   string // of a call: its tool; of a mark: what it is
	Gist    string // in one line
	HTML    template.HTML
	Cut     int // bytes that are left out
	CallID  string
	Done    bool // of a call: it has a result
	Failed  bool
	Took    string
	Inner   []*block // of a call: its results
	Entry   string   // of a result: its entry
	Source  template.URL
	MIME    string
	started time.Time
}

// size returns about how many bytes an entry takes.
func (out *entry) size() (n int64) {
	for _, b := range out.Blocks {
		n += b.size()
	}
	return n
}

func (b *block) size() int64 {
	n := int64(len(b.HTML) + len(b.Gist))
	for _, in := range b.Inner {
		n += in.size()
	}
	return n
}

// maxBlocks bounds the blocks of one entry.
const maxBlocks = 500

// An entryReader renders entries. It puts a result under its call if it read the call, too.
type entryReader struct {
	dialect core.Dialect
	base    string
	// image returns the source of image n of an entry, or "" for none.
	image func(entry string, n int, b *item.Block) template.URL
	calls map[string]*block
	edits map[string]item.EditTool
	*htmlRenderer
}

func newEntryReader(d core.Dialect, base string) *entryReader {
	image := func(entry string, n int, _ *item.Block) template.URL {
		return template.URL(base + "/image?" + url.Values{"entry": {entry}, "n": {strconv.Itoa(n)}, "dialect": {d.Name()}}.Encode()) // #nosec G203 -- escaped
	}
	return &entryReader{dialect: d, base: base, image: image, calls: map[string]*block{}, edits: optional.EditTools(d), htmlRenderer: newRenderer(highlightTime, time.Now)}
}

// read returns a rendered entry, or nil if all of it is a result that is now under its call.
// An entry without content for people is silent; an export omits it.
func (r *entryReader) read(e core.Entry, number int) *entry {
	out := &entry{Base: r.base, ID: e.ID, Number: number, Time: e.Time}
	for _, it := range r.dialect.Read(e) {
		r.add(out, &it)
	}
	if len(out.Blocks) == 0 {
		if r.base == "" || out.adopted {
			return nil
		}
		out.Kind, out.Who = "silent", line(e.Type, 40)
	}
	return out
}

// add adds what an item says.
func (r *entryReader) add(out *entry, it *item.Item) {
	if it.Time != "" {
		out.Time = it.Time
	}
	switch it.Kind {
	case item.Message:
		r.message(out, it)
	case item.Note:
		if !it.Hidden {
			out.speak("note", line(it.Type, 40))
			r.blocks(out, it.Blocks, false)
		}
	case item.Compaction:
		r.summary(out, "Earlier entries were summarized", it.Text)
	case item.Branch:
		r.summary(out, "Summary of a branch that was left", it.Text)
	case item.Model:
		out.mark("Model", join("/", it.Provider, it.Model))
	case item.Level:
		out.mark("Thinking", it.Text)
	case item.Name:
		out.mark("Name", it.Text)
	case item.Label:
		out.mark("Label", it.Text)
	case item.Mode:
		out.mark("Mode", it.Text)
	}
}

func join(by string, words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), by)
}

// speak sets the speaker of an entry, the first one if there are several.
func (out *entry) speak(kind, who string) {
	if out.Kind == "" || out.Kind == "mark" {
		out.Kind, out.Who = kind, who
	}
}

// mark adds a fact about the session.
func (out *entry) mark(label, text string) *block {
	if out.Kind == "" {
		out.Kind = "mark"
	}
	text, cut := clip(text)
	b := &block{Kind: "mark", Label: label, Gist: visible(text), Cut: cut}
	out.Blocks = append(out.Blocks, b)
	return b
}

// summary adds a summary of entries.
func (r *entryReader) summary(out *entry, label, text string) {
	b := out.mark(label, text)
	text, _ = clip(text)
	b.Kind, b.Gist, b.HTML = "summary", line(text, 160), r.markdown(text)
}

var speakers = map[item.Role]string{item.RoleUser: "User", item.RoleAssistant: "Assistant", item.RoleSystem: "System prompt", item.RoleTool: "Tool"}

func (r *entryReader) message(out *entry, it *item.Item) {
	out.speak(string(it.Role), speakers[it.Role])
	if it.Role == item.RoleAssistant {
		out.Model = join("/", it.Provider, it.Model)
		if it.Usage != nil {
			out.Tokens += it.Usage.Output
			out.Cost += it.Usage.Cost
		}
	}
	r.blocks(out, it.Blocks, it.Role == item.RoleSystem)
	if it.Error != "" {
		text, cut := clip(it.Error)
		out.Blocks = append(out.Blocks, &block{Kind: "error", HTML: ansi(text), Cut: cut})
	} else if it.Stop == item.StopAborted || it.Stop == item.StopLength {
		out.Blocks = append(out.Blocks, &block{Kind: "error", HTML: map[item.Stop]template.HTML{item.StopAborted: "Aborted", item.StopLength: "The answer reached its maximum length"}[it.Stop]})
	}
}

// blocks adds the blocks of a message, those of a system prompt folded.
func (r *entryReader) blocks(out *entry, bs []item.Block, system bool) {
	for i := range bs {
		if len(out.Blocks) >= maxBlocks {
			out.Blocks = append(out.Blocks, moreBlocks(len(bs)-i))
			return
		}
		b := &bs[i]
		switch b.Kind {
		case item.BlockCall:
			out.Blocks = append(out.Blocks, r.call(out, b))
		case item.BlockResult:
			r.result(out, b)
		default:
			if shown := r.block(out, b, out.Kind); shown != nil {
				if system && shown.Kind == "text" {
					shown.Kind = "system"
				}
				out.Blocks = append(out.Blocks, shown)
			}
		}
	}
}

// moreBlocks says that n blocks are left out.
func moreBlocks(n int) *block {
	return &block{Kind: "mark", Label: "and more blocks", Gist: strconv.Itoa(n)}
}

// block shows a text, a thought or an image.
func (r *entryReader) block(out *entry, b *item.Block, kind string) *block {
	switch b.Kind {
	case item.BlockText:
		text, cut := clip(b.Text)
		if strings.TrimSpace(text) == "" {
			return nil
		}
		if kind == string(item.RoleTool) {
			return &block{Kind: "output", HTML: ansi(text), Cut: cut}
		}
		return &block{Kind: "text", Gist: line(text, 160), HTML: r.markdown(text), Cut: cut}
	case item.BlockThinking:
		text, cut := clip(b.Text)
		if b.Hidden || strings.TrimSpace(text) == "" {
			return nil
		}
		return &block{Kind: "thinking", Gist: line(text, 160), HTML: r.markdown(text), Cut: cut}
	case item.BlockImage:
		out.images++
		return &block{Kind: "image", MIME: line(b.MIME, 40), Source: r.image(out.ID, out.images-1, b)}
	case item.BlockAudio:
		return &block{Kind: "mark", Label: "Audio", Gist: line(b.MIME, 40)}
	}
	return nil
}

// call shows a call of a tool, without its result.
func (r *entryReader) call(out *entry, b *item.Block) *block {
	html, cut := r.arguments(b.Name, b.Args)
	shown := &block{Kind: "call", Label: line(b.Name, 80), Gist: line(display.Gist(b.Args), 200), HTML: html, Cut: cut, CallID: b.ID, Entry: out.ID}
	shown.started, _ = time.Parse(time.RFC3339Nano, out.Time)
	if b.ID != "" {
		r.calls[b.ID] = shown
	}
	return shown
}

// result shows the result of a call, under the call if it was read.
func (r *entryReader) result(out *entry, b *item.Block) {
	shown := &block{Kind: "result", Label: line(b.Name, 80), CallID: b.ID, Failed: b.Failed, Entry: out.ID}
	for i := range b.Blocks {
		if len(shown.Inner) >= maxBlocks {
			shown.Inner = append(shown.Inner, moreBlocks(len(b.Blocks)-i))
			break
		}
		if inner := r.block(out, &b.Blocks[i], string(item.RoleTool)); inner != nil {
			shown.Inner = append(shown.Inner, inner)
			if shown.Gist == "" && b.Blocks[i].Kind == item.BlockText {
				shown.Gist = line(b.Blocks[i].Text, 120)
			}
		}
	}
	call := r.calls[b.ID]
	if call == nil || b.ID == "" {
		out.Blocks = append(out.Blocks, shown)
		return
	}
	call.Inner = append(call.Inner, shown)
	out.adopted = true
	call.Done, call.Failed = true, call.Failed || b.Failed
	if ended, err := time.Parse(time.RFC3339Nano, out.Time); err == nil && !call.started.IsZero() && ended.After(call.started) {
		call.Took = took(ended.Sub(call.started))
	}
}

// took returns a duration, or "" if it is too short to show.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return ""
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// arguments shows the arguments of a call: changes of files as a diff, a command and a
// single text as they are, else all as JSON.
func (r *entryReader) arguments(name string, raw json.RawMessage) (template.HTML, int) {
	if tool, ok := r.edits[name]; ok {
		var all template.HTML
		cut := 0
		for _, e := range tool.Edits(raw) {
			d, _, _ := diffOf(e)
			all += d.html()
			cut += d.cut
		}
		if all != "" {
			return all, cut
		}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil {
		for _, name := range []string{"command", "cmd"} {
			var command string
			if json.Unmarshal(members[name], &command) == nil && command != "" {
				text, cut := clip(command)
				return r.codeBlock("bash", visible(text)), cut
			}
		}
	}
	var text string
	if json.Unmarshal(raw, &text) == nil { // such as a patch
		text, cut := clip(text)
		return r.codeBlock("diff", visible(text)), cut
	}
	var pretty bytes.Buffer
	if len(raw) > maxText || json.Indent(&pretty, raw, "", "  ") != nil {
		pretty.Reset()
		pretty.Write(raw)
	}
	text, cut := clip(pretty.String())
	return r.codeBlock("json", visible(text)), cut
}
