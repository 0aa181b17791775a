package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/session/loop"
)

// A Wire is how an API writes replies.
type Wire struct {
	Whole    func(loop.Reply) string   // a response
	Events   func(loop.Reply) []string // the events of a stream
	Optional int                       // how many of the last events a reply can lack
	Fault    string                    // an event that reports an error
}

// Script is a server that gives replies in order: the one after n replies in the
// request is reply n.
func (w Wire) Script(replies ...loop.Reply) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		var q struct {
			Stream   bool
			Messages []struct{ Role loop.Role }
		}
		b, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(b, &q); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		n := 0
		for _, m := range q.Messages {
			if m.Role == loop.Assistant {
				n++
			}
		}
		switch {
		case n >= len(replies):
			http.Error(rw, `{"error":{"message":"the script is over"}}`, http.StatusBadRequest)
		case q.Stream:
			send(rw, w.Events(replies[n])...)
		default:
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprint(rw, w.Whole(replies[n]))
		}
	}
}

// send writes events. The first line of one may be its type.
func send(rw http.ResponseWriter, events ...string) {
	rw.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if name, data, ok := strings.Cut(e, "\n"); ok {
			fmt.Fprintf(rw, "event: %s\n", name)
			e = data
		}
		fmt.Fprintf(rw, "data: %s\n\n", e)
	}
}

type object = map[string]any

func text(v any) string {
	b, _ := json.Marshal(v) // objects of strings and numbers
	return string(b)
}

// halves cuts a text in two pieces; an empty one has none.
func halves(s string) []string {
	switch len(s) {
	case 0:
		return nil
	case 1:
		return []string{s}
	}
	return []string{s[:len(s)/2], s[len(s)/2:]}
}
