package codex

import (
	"encoding/json"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// own is what only Codex's sessions have.
type own struct {
	Model       string   `json:"model,omitempty"`
	Provider    string   `json:"provider,omitempty"`
	Source      string   `json:"source,omitempty"`
	Version     string   `json:"cliVersion,omitempty"`
	HistoryMode string   `json:"historyMode,omitempty"`
	ForkedFrom  string   `json:"forkedFrom,omitempty"`
	Parent      string   `json:"parentThread,omitempty"`
	Files       []string `json:"files"`
}

// Info describes the session whose leaf is leaf. Its directory is that of the
// last turn, as Codex lists it. Its entries are the lines of
// the thread's files and of the files that they continue, not those of
// sub-agents. Returns core.ErrNotFound if leaf names no such line.
func (d Dialect) Info(h core.Header, es []core.Entry, leaf core.Leaf) (display.Info, error) {
	path, err := pathTo(es, leaf)
	if err != nil {
		return display.Info{}, err
	}
	info := envelope.ChainInfo(h, es)
	if n := len(path); n > 0 && path[n-1].ID != "" {
		info.LeafID = &path[n-1].ID
	}
	if name := nameOf(es); name != "" {
		info.Name = &name
	}
	if cwd := cwdAt(path); cwd != "" {
		info.CWD = cwd
	}
	t, err := readThread(es)
	if err != nil {
		return display.Info{}, err
	}
	info.Own, err = json.Marshal(ownOf(t, path))
	return info, err
}

// cwdAt returns the directory of the last turn of path, or "" if there is none.
func cwdAt(path []rolloutLine) string {
	for _, l := range slices.Backward(path) {
		if l.Type == typeTurn {
			return memberText(payloadOf(l), "cwd")
		}
	}
	return ""
}

func ownOf(t *thread, path []rolloutLine) own {
	o := own{Files: []string{}}
	for _, r := range t.rollouts {
		o.Files = append(o.Files, r.path)
	}
	if r := t.newest(); r != nil {
		m := r.meta
		o.Source, o.Version, o.HistoryMode, o.ForkedFrom, o.Parent = m.source, m.version, m.mode, m.forkedFrom, m.parent
	}
	for _, l := range path {
		switch l.Type {
		case typeTurn:
			o.Model = memberText(payloadOf(l), "model")
		case typeMeta:
			o.Provider = memberText(payloadOf(l), "model_provider")
		}
	}
	return o
}

// withMessage returns s with it counted, if it is a message of a user or a model.
func withMessage(s display.Summary, time string, it sent) display.Summary {
	if !it.isUser() && it.role != "assistant" {
		return s
	}
	s.Messages++
	if at := date.ISO(date.Parse(time)); at > s.Modified {
		s.Modified = at
	}
	if s.First == "" && it.isUser() {
		s.First = listing.First(it.text())
	}
	return s
}

// text returns the texts of a message, without those that only mark where an
// image is.
func (it *sent) text() string {
	var texts []byte
	_ = jsjson.Each(member(it.raw, "content"), func(block jsjson.Value) {
		text, ok := member(block, "text").Text()
		if !ok || isImageMark(text) {
			return
		}
		if len(texts) > 0 {
			texts = append(texts, ' ')
		}
		texts = append(texts, text...)
	})
	return string(texts)
}
