package openrath

import "strconv"

// LineageRow describes where s came from as one JSON object: id, parents,
// operator, kind, extras, the number of chunks and the usage. Extras that JSON
// cannot represent are their text.
func LineageRow(s Session) []byte {
	b := append([]byte(`{"id": `), quoted(s.ID)...)
	b = s.appendLineage(b)
	b = appendMember(b, "chunk_count", strconv.AppendInt(nil, int64(s.Rows.Len()), 10))
	return append(appendMember(b, "cumulative_usage", s.Usage.text()), '}')
}

// Export returns the rows of sessions in order, with "\n" after each.
func Export(sessions ...Session) []byte {
	var b []byte
	for _, s := range sessions {
		b = append(append(b, LineageRow(s)...), '\n')
	}
	return b
}
