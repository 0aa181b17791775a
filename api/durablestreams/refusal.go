package durablestreams

import (
	"errors"
	"fmt"
	"net/http"
)

// A refusal is an answer that the protocol defines for a request that changes nothing.
type refusal struct {
	status int
	text   string
	header map[string]string
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, text: fmt.Sprintf(format, args...)}
}

// with adds a header to the answer.
func (e *refusal) with(name, value string) *refusal {
	if e.header == nil {
		e.header = map[string]string{}
	}
	e.header[name] = value
	return e
}

// answered writes a refusal as text and returns nil. It returns other errors.
func answered(w http.ResponseWriter, err error) error {
	e, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	for name, value := range e.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(e.status)
	_, _ = fmt.Fprintln(w, e.text)
	return nil
}

func errNoStream(path string) error {
	return refuse(http.StatusNotFound, "there is no stream %.200q", path)
}

func errGone(path string) error {
	return refuse(http.StatusGone, "stream %.200q is deleted", path)
}

var errBusy = refuse(http.StatusServiceUnavailable, "too many requests wait for this stream").with("Retry-After", "1")
