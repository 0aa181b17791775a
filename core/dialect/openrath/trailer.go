package openrath

import (
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// NewTrailer is the record that closes a session: when, in ISO 8601, after how
// many chunks, and its usage, nil if unknown.
func NewTrailer(closed string, chunks int, usage *Usage) []byte {
	b := append([]byte(`{"record_type": "trailer", "closed_at": `), quoted(asPython(closed))...)
	b = appendMember(b, "final_chunk_count", strconv.AppendInt(nil, int64(chunks), 10))
	return append(appendMember(b, "cumulative_usage", usage.text()), '}')
}

// A trailer is the content of the last trailer of a session.
type trailer struct {
	closed string
	chunks jsjson.Value // nil if it is missing
	usage  *Usage
	extras []Extra // of a run of package session/loop; OpenRath writes none
}

// trailerOf returns the last trailer in es, and reports false if there is none
// because the session is not closed.
func trailerOf(es []core.Entry) (trailer, bool) {
	i := lastTrailer(es)
	if i < 0 {
		return trailer{}, false
	}
	o, err := jsjson.ParseObject(es[i].Line)
	if err != nil {
		return trailer{}, false
	}
	return trailer{es[i].Time, o.Get("final_chunk_count"), readUsage(o.Get("cumulative_usage")), readExtras(&o)}, true
}

func lastTrailer(es []core.Entry) int {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].Aside {
			return i
		}
	}
	return -1
}
