package lineage

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/jsonline"
)

// Limits on what one session may state: any client can write headers, and a
// listing holds every session's Stamp. Whatever exceeds them is left out.
const (
	MaxParents = 64
	maxExtras  = 32      // of a header, and of a trailer
	maxBytes   = 4 << 10 // of these extras, and of an operator
)

// A Stamp is what a session says about its origin.
type Stamp struct {
	Kind    Kind     `json:"kind,omitempty"` // of the first parent, if there are several
	Parents []Parent `json:"parents,omitempty"`
	// Word is OpenRath's own word, if it wrote one; Kind has the same meaning.
	Word   Word    `json:"word,omitzero"`
	Extras []Extra `json:"extras,omitempty"`
}

// A Parent is a session that another came from. It need not be in the log.
type Parent struct {
	Session core.SessionID `json:"session"`
	Kind    Kind           `json:"kind"`
	Entry   string         `json:"entry,omitempty"` // where it was left, if known
}

// Of returns what a session says about its origin. What the log recorded when
// it was made takes precedence over its agent's header, which names parents by
// the agent's ids and has less detail. Extras include those of a trailer, which is
// the last entry.
func Of(st *core.State) Stamp {
	said := OfHeader(st.Origin.Dialect, st.Header)
	s, ok := ofOrigin(st.Origin)
	switch {
	case !ok:
		s = said
	// OpenRath gives a new session and a resumed one no origin.
	case said.Kind == s.Kind || said.Kind == Unknown && (s.Kind == Create || s.Kind == Resume):
		s.Word, s.Extras = said.Word, said.Extras
	}
	if n := len(st.Entries); n > 0 && st.Entries[n-1].Aside && st.Origin.Dialect == "openrath" {
		_, extras := rathMembers(st.Entries[n-1].Line)
		s.Extras = append(s.Extras, extras...)
	}
	return s
}

func ofOrigin(o core.Origin) (Stamp, bool) {
	from := o.Lineages()
	if len(from) == 0 && o.Kind == "" {
		return Stamp{}, false
	}
	s := Stamp{}
	for _, l := range from[:min(len(from), MaxParents)] {
		kind, _ := ParseKind(l.Kind)
		s.Parents = append(s.Parents, Parent{l.Session, kind, l.Entry})
	}
	s.Kind, _ = ParseKind(o.Kind)
	if len(s.Parents) > 0 {
		s.Kind = s.Parents[0].Kind
	}
	return s, true
}

// OfHeader returns what the header of a session of that dialect says about its
// origin.
func OfHeader(dialect string, h core.Header) Stamp {
	s := Stamp{}
	s.Kind, _ = ParseKind(h.Lineage)
	if dialect == "openrath" {
		s.Word, s.Extras = rathMembers(h.Line)
	}
	if s.Kind == Unknown && s.Word != (Word{}) {
		s.Kind = KindOf(s.Word)
	}
	for _, id := range h.Parents[:min(len(h.Parents), MaxParents)] {
		s.Parents = append(s.Parents, Parent{Session: core.SessionIDFor(dialect, id), Kind: s.Kind})
	}
	return s
}

// rathMembers reads OpenRath's own members of a header or a trailer. A kind that OpenRath
// does not have is unknown to it, and invalid pairs are left out, as in its
// loader.
func rathMembers(line []byte) (w Word, extras []Extra) {
	_ = jsonline.Members(line, func(name string, v jsontext.Value) {
		switch name {
		case "lineage_operator":
			w.Operator, _ = jsonline.Text(v)
			w.Operator = w.Operator[:min(len(w.Operator), maxBytes)]
		case "lineage_kind":
			w.Kind, _ = jsonline.Text(v)
		case "lineage_extras":
			extras = pairs(v)
		}
	})
	if _, ok := kinds[w.Kind]; !ok {
		w.Kind = rathUnknown
	}
	if w.Operator == "" {
		w.Operator = words[Unknown].Operator
	}
	return w, extras
}

func pairs(v jsontext.Value) []Extra {
	var list []json.RawMessage
	if json.Unmarshal(v, &list) != nil {
		return nil
	}
	var extras []Extra
	size := 0
	for _, pair := range list {
		var e Extra
		if e.UnmarshalJSON(pair) != nil {
			continue
		}
		if size += len(pair); size > maxBytes || len(extras) == maxExtras {
			break
		}
		extras = append(extras, e)
	}
	return extras
}
