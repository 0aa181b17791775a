package claude

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Info describes the session. The name is the title that the agent shows.
func (d Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	if leaf.IsDefault() {
		leaf = d.Leaf(es)
	}
	o, err := jsonl.Object(core.Entry{Line: h.Line, ID: h.ID})
	if err != nil {
		return display.Info{}, err
	}
	info, err := frame.Info(h, &o, inTree(es), leaf)
	if err != nil {
		return display.Info{}, err
	}
	info.Version = json.RawMessage("1")
	s := settingsOf(es)
	if title := s.title(); title != "" {
		info.Name = &title
	}
	info.Own, err = s.json()
	return info, err
}

// settings are what the metadata lines of the main file say; the last of a kind
// counts.
type settings map[string]string

// settingNames maps the kinds of lines to the member with their value.
var settingNames = map[string]string{
	"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary", typeLastPrompt: "lastPrompt",
	"mode": "mode", "permission-mode": "permissionMode", "tag": "tag", "agent-name": "agentName",
}

// settingsOf reads the metadata lines of es.
func settingsOf(es []core.Entry) settings {
	s := settings{}
	for i := range es {
		s.read(es[i])
	}
	return s
}

// read reads e if it is a metadata line.
func (s settings) read(e core.Entry) {
	name, ok := settingNames[e.Type]
	if !ok {
		return
	}
	var v [2]jsjson.Value
	if jsjson.Pick(mainLine(e), []string{name, "value"}, v[:]) != nil {
		return
	}
	if v[0] == nil {
		v[0] = v[1]
	}
	if value, ok := v[0].Text(); ok {
		s[name] = value
	}
}

// mainLine returns the line of the main file that e is, or nil.
func mainLine(e core.Entry) jsjson.Value {
	p, ours, err := envelope.Open(e.Line)
	switch {
	case !ours:
		return e.Line
	case err != nil || !p.IsLine() || p.Pieces != 1 || p.Path != mainPath:
		return nil
	}
	return p.Bytes
}

// title is what the agent shows as the name of the session, apart from its
// prompts.
func (s settings) title() string {
	for _, name := range []string{"customTitle", "aiTitle", "summary"} {
		if s[name] != "" {
			return s[name]
		}
	}
	return ""
}

// json returns the settings that info shows as the agent's own.
func (s settings) json() (json.RawMessage, error) {
	var o jsjson.Object
	for _, name := range []string{"customTitle", "aiTitle", "lastPrompt", "mode", "permissionMode", "tag", "agentName"} {
		if v, ok := s[name]; ok {
			o.Set(name, jsjson.AppendString(nil, v))
		}
	}
	b, err := jsonl.Build(&o)
	return json.RawMessage(b), err
}
