package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// An Error is a problem that a node answered with. errors.Is finds the error of
// core for its code.
type Error struct {
	Detail api.Detail
	// Cause is the typed error of core, if the problem has more than the code; else
	// nil.
	Cause error
}

func (e *Error) Error() string {
	if e.Detail.Detail != "" {
		return e.Detail.Detail
	}
	return e.Detail.Title
}

// Unwrap returns the error of core that the code stands for, or nil.
func (e *Error) Unwrap() error {
	if e.Cause != nil {
		return e.Cause
	}
	for _, p := range api.Problems {
		if p.Code == e.Detail.Code {
			return p.Err
		}
	}
	return nil
}

// readProblem returns the error of a non-2xx answer.
func readProblem(r *http.Response) error {
	b, broken := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if broken != nil && r.StatusCode < 500 { // nothing was stored; why is unknown
		return fmt.Errorf("the answer %s broke off: %w: %w", r.Status, broken, core.ErrUnavailable)
	}
	var d api.Detail
	if json.Unmarshal(b, &d) == nil && d.Code != "" {
		return &Error{Detail: d}
	}
	if r.Request != nil && r.Request.Method == http.MethodHead { // then the status says all
		return problemOf(r.StatusCode)
	}
	text := strings.TrimSpace(string(b))
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	err := fmt.Errorf("the node answered %s: %s", r.Status, text)
	if r.Request != nil && (r.StatusCode == http.StatusBadGateway || r.StatusCode == http.StatusGatewayTimeout) {
		return fmt.Errorf("%w: %w", err, unanswered(r.Request.Method)) // by something in front of a node, which may have the request
	}
	if r.StatusCode >= 500 {
		return fmt.Errorf("%w: %w", err, core.ErrUnavailable)
	}
	return err
}

// problemOf returns the error of a status without a body.
func problemOf(status int) error {
	for _, p := range api.Problems {
		if p.Status == status && p.Err != core.ErrUncertain { // nothing was to be changed
			return &Error{Detail: api.Detail{Type: "urn:sesslog:" + p.Code, Code: p.Code, Status: status, Title: p.Title, Next: p.Next}}
		}
	}
	return fmt.Errorf("the node answered %d: %w", status, core.ErrUnavailable)
}
