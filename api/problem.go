package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/upload"
)

// A Detail is an error as it crosses the wire: a problem document of RFC 9457.
type Detail struct {
	Type   string       `json:"type"` // "urn:sesslog:" and Code
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Detail string       `json:"detail"`
	Code   string       `json:"code"`
	Next   string       `json:"next,omitempty"`   // what the caller does now
	Line   int          `json:"line,omitempty"`   // of the request's body, from 1
	Entry  string       `json:"entry,omitempty"`  // the entry at fault
	Head   string       `json:"head,omitempty"`   // the head at fault
	Holder *core.Claim  `json:"holder,omitempty"` // who holds it
	Life   *Life        `json:"life,omitempty"`   // of a refused claim: whether the holder is there
	Cursor *core.Cursor `json:"cursor,omitempty"` // where the session is
	// Of an append that another came before: what happened to the head since its
	// writer saw it, and how many records the session got behind those.
	Since []core.Change `json:"since,omitempty"`
	More  int           `json:"more,omitempty"`
	// Request names the request, as the header X-Request-Id does.
	Request string `json:"request,omitempty"`
}

// problems are the errors of core as HTTP knows them. Where an error is several
// of them, the first counts.
var problems = []struct {
	err    error
	code   string
	status int
	title  string
	next   string
}{
	{errUnauthorized, "unauthorized", 401, "No valid token", "Send Authorization: Bearer TOKEN (sessctl: --token or SESS_TOKEN)."},
	{errForbidden, "forbidden", 403, "Not allowed", "Use a token that is allowed to; an admin makes one with: sessctl token create"},
	{ErrTooMany, "too-many", 429, "Too many requests", "Wait as long as Retry-After says; then send the same again."},
	{errNoUploads, "no-uploads", 501, "No uploads in parts", "Send the whole at once: POST /v1/import, or PUT /v1/blobs/{digest}."},
	{upload.ErrGone, "no-upload", 404, "No such upload", "Begin it again with POST /v1/uploads. An upload is on the node that took it, for a day at most."},
	{upload.ErrNoRoom, "no-room", 507, "No room for another upload", "Send the whole at once, end an upload that is not needed with DELETE, or wait until one expires."},
	{upload.ErrOffset, "offset", 409, "The upload ends elsewhere", "Ask with HEAD where it ends, and go on from there."},
	{upload.ErrDigest, "digest", 409, "The bytes are other ones", "Begin the upload again, after a look at whether the file has changed."},
	{core.ErrUncertain, "uncertain", 503, "The answer was lost", "Send the same request again, with the same ids or Idempotency-Key: it is stored once."},
	{core.ErrFenced, "fenced", 409, "Another writer holds the head", "Stop writing to this head; claim it with takeOver, or append to a head of your own."},
	{core.ErrConflict, "conflict", 409, "The log holds something else there", "Read the session and decide anew."},
	{core.ErrExists, "exists", 409, "The session is there already", "Append to it, or choose another id."},
	{core.ErrHeld, "held", 423, "The session is held", "Release the hold first, if those who set it agree: GET /v1/holds says who and why."},
	{core.ErrDeleted, "deleted", 410, "The session is deleted", "Undelete it first, if it is in the trash."},
	{core.ErrTooNew, "too-new", 501, "Written by a newer version", "Upgrade this node."},
	{core.ErrTooLarge, "too-large", 413, "Too large", "Send less at a time, or raise the limit in the node's configuration."},
	{core.ErrFull, "full", 507, "The log is full", "Give the log more room, or delete what is no longer needed; reading goes on."},
	{core.ErrInvalid, "invalid", 400, "The request is not valid", "Correct it; sending it again will not help."},
	{core.ErrNotFound, "not-found", 404, "Not found", "List what there is with GET /v1/sessions."},
	{core.ErrCorrupt, "corrupt", 500, "Damaged data", "Keep it as it is and run: sessctl verify"},
	{core.ErrLost, "lost", 410, "The log no longer holds that record", "Read the session from the start."},
	{core.ErrUnavailable, "unavailable", 503, "Not available now", "Try again after a moment."},
	{context.DeadlineExceeded, "unavailable", 503, "Not available now", "Try again after a moment."},
}

// detailOf returns err as it crosses the wire.
func detailOf(err error) Detail {
	d := Detail{Status: 500, Code: "internal", Title: "Internal error", Detail: err.Error(), Next: "See the node's log."}
	for _, p := range problems {
		if errors.Is(err, p.err) {
			d.Status, d.Code, d.Title, d.Next = p.status, p.code, p.title, p.next
			if p.status == http.StatusUnauthorized || p.status == http.StatusForbidden {
				d.Detail = strings.TrimSuffix(d.Detail, ": "+p.err.Error()) // the title says it
			}
			break
		}
	}
	if errors.Is(err, blobstore.ErrRefused) {
		d.Next = "Have done what the detail says; then send the same again. Nothing was stored."
	}
	d.Type = "urn:sesslog:" + d.Code
	if e, ok := errors.AsType[*core.LineError](err); ok {
		d.Line, d.Entry = e.Line, e.ID
	}
	if e, ok := errors.AsType[*core.FencedError](err); ok {
		d.Head, d.Holder, d.Since, d.More = e.Head, e.Holder, e.Since, e.More
	}
	if e, ok := errors.AsType[*heldError](err); ok {
		d.Life = &e.life
	}
	if e, ok := errors.AsType[*core.ConflictError](err); ok {
		d.Head, d.Cursor, d.Since, d.More = e.Head, &e.Have, e.Since, e.More
	}
	return d
}

// writeProblem answers with err.
func writeProblem(w http.ResponseWriter, err error) Detail {
	d := detailOf(err)
	writeDetail(w, d)
	return d
}

func writeDetail(w http.ResponseWriter, d Detail) {
	d.Detail, d.Entry = clip(d.Detail, maxText), clip(d.Entry, maxText)
	h := w.Header()
	d.Request = h.Get(HeaderRequest)
	h.Del("ETag")
	h.Set("Content-Type", "application/problem+json")
	switch d.Status {
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(d.Status)
	b, err := marshal(d)
	if err != nil {
		return // it is made of strings and numbers
	}
	_, _ = w.Write(append(b, '\n')) // a caller that has gone is no error of ours
}

// clip shortens what a caller sent and is told again.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// An Error is a problem that a node answered with. errors.Is finds the error of
// core that it stands for.
type Error struct {
	Detail Detail
	// Cause is the typed error of core that the problem was, where more is known
	// of it than the code says; else nil.
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
	for _, p := range problems {
		if p.code == e.Detail.Code {
			return p.err
		}
	}
	return nil
}

// readProblem makes an error of an answer that is none of success.
func readProblem(r *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var d Detail
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

// problemOf makes an error of a status alone.
func problemOf(status int) error {
	for _, p := range problems {
		if p.status == status && p.err != core.ErrUncertain { // nothing was to be changed
			return &Error{Detail: Detail{Type: "urn:sesslog:" + p.code, Code: p.code, Status: status, Title: p.title, Next: p.next}}
		}
	}
	return fmt.Errorf("the node answered %d: %w", status, core.ErrUnavailable)
}
