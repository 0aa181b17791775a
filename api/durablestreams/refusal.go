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

	code       string // of an error of a subscription, which is JSON
	holder     string // the worker that has the lease
	generation int64
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

// answered writes a refusal, as text if it has no code, and returns nil. It returns other errors.
func answered(w http.ResponseWriter, err error) error {
	e, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	for name, value := range e.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Cache-Control", "no-store")
	if e.code != "" {
		writeJSON(w, e.status, "application/json", map[string]any{"error": struct {
			Code       string `json:"code"`
			Message    string `json:"message"`
			Holder     string `json:"current_holder,omitempty"`
			Generation int64  `json:"generation,omitempty"`
		}{e.code, e.text, e.holder, e.generation}})
		return nil
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
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
