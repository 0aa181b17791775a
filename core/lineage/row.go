package lineage

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A Row is a Node as OpenRath exports one. Ids are those of the log, which are
// OpenRath's own for its sessions.
type Row struct {
	ID      string
	Parents []string
	Word    Word
	Extras  []Extra
	Chunks  int
	Usage   *Usage
}

// Row returns n as OpenRath exports it.
func (n Node) Row() Row {
	r := Row{ID: string(n.ID), Word: n.Word, Extras: n.Extras, Chunks: n.Entries, Usage: n.Usage}
	if r.Word == (Word{}) {
		r.Word = n.Kind.Word()
	}
	for _, p := range n.Parents {
		if p.Kind == Resume && r.Word.Kind == rathUnknown {
			continue // a resumed session names no origin
		}
		r.Parents = append(r.Parents, string(p.Session))
	}
	return r
}

// Append appends r as one line of JSON as Python's json.dumps spaces it,
// without a newline.
func (r Row) Append(b []byte) []byte {
	b = jsjson.AppendString(append(b, `{"id": `...), r.ID)
	b = append(b, `, "parent_session_ids": [`...)
	for i, id := range r.Parents {
		b = jsjson.AppendString(comma(b, i), id)
	}
	b = jsjson.AppendString(append(b, `], "lineage_operator": `...), r.Word.Operator)
	b = jsjson.AppendString(append(b, `, "lineage_kind": `...), r.Word.Kind)
	b = append(b, `, "lineage_extras": [`...)
	for i, e := range r.Extras {
		b = jsjson.AppendString(append(comma(b, i), '['), e.Key)
		b = append(appendSpaced(append(b, ", "...), jsontext.Value(e.value())), ']')
	}
	b = strconv.AppendInt(append(b, `], "chunk_count": `...), int64(r.Chunks), 10)
	b = append(b, `, "cumulative_usage": `...)
	if r.Usage == nil {
		return append(b, "null}"...)
	}
	b = strconv.AppendInt(append(b, `{"prompt_tokens": `...), r.Usage.Prompt, 10)
	b = strconv.AppendInt(append(b, `, "completion_tokens": `...), r.Usage.Completion, 10)
	b = strconv.AppendInt(append(b, `, "total_tokens": `...), r.Usage.Total, 10)
	return append(b, "}}"...)
}

func comma(b []byte, i int) []byte {
	if i == 0 {
		return b
	}
	return append(b, ", "...)
}

// appendSpaced appends one JSON value with a space after each comma and colon.
func appendSpaced(b []byte, v jsontext.Value) []byte {
	out, err := jsontext.AppendFormat(b, v, jsontext.SpaceAfterComma(true), jsontext.SpaceAfterColon(true),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil { // it is valid; only depth could be at fault
		return append(b, "null"...)
	}
	return out
}

// ExportJSONL returns the rows of nodes, one line each.
func ExportJSONL(nodes []Node) []byte {
	var b []byte
	for _, n := range nodes {
		b = append(n.Row().Append(b), '\n')
	}
	return b
}
