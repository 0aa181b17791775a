package server

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// windowOf returns those of es that ?from= and ?limit= ask for, and sets the header that
// says which they are and how many there are. Without these parameters, it returns es.
func windowOf(w http.ResponseWriter, r *http.Request, es []core.Entry) ([]core.Entry, error) {
	q := r.URL.Query()
	if !q.Has("from") && !q.Has("limit") {
		return es, nil
	}
	from, err := numberOf(q.Get("from"), 0)
	if err != nil {
		return nil, fmt.Errorf("from=%.64q: use the number of an entry, or a negative one from the end: %w", q.Get("from"), core.ErrInvalid)
	}
	limit, err := numberOf(q.Get("limit"), len(es))
	if err != nil || limit < 1 && q.Has("limit") {
		return nil, fmt.Errorf("limit=%.64q: use a number, 1 or more: %w", q.Get("limit"), core.ErrInvalid)
	}
	if from < 0 {
		from = max(0, len(es)+from)
	}
	from = min(from, len(es))
	to := from + min(limit, len(es)-from)
	which := "*"
	if from < to {
		which = fmt.Sprintf("%d-%d", from, to-1)
	}
	w.Header().Set(api.HeaderRange, fmt.Sprintf("%s/%d", which, len(es)))
	return es[from:to], nil
}

// numberOf returns the number that text is, or none if text is empty.
func numberOf(text string, none int) (int, error) {
	if text == "" {
		return none, nil
	}
	return strconv.Atoi(text)
}
