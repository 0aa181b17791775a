package openrath

import "strconv"

// LineageRow is where s came from as one JSON object: id, parents, operator,
// kind, extras, how many chunks it has and what it cost. Extras that have no
// JSON are their text.
func LineageRow(s Session) []byte {
	b := append([]byte(`{"id": `), quoted(s.ID)...)
	b = s.appendLineage(b)
	b = appendMember(b, "chunk_count", strconv.AppendInt(nil, int64(s.Rows.Len()), 10))
	return append(appendMember(b, "cumulative_usage", s.Usage.text()), '}')
}

// Export is the rows of sessions in order, "\n" behind each; nothing for none.
func Export(sessions ...Session) []byte {
	var b []byte
	for _, s := range sessions {
		b = append(append(b, LineageRow(s)...), '\n')
	}
	return b
}
