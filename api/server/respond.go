package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

// clip shortens a caller's text that is repeated in an answer or a log line.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// readJSON decodes the request's body into v. Unknown members are an error, so
// misspelt ones are not ignored.
func readJSON(r *http.Request, v any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err == io.EOF {
		return fmt.Errorf("the body is empty; %s %s requires a JSON object, at least {}: %w", r.Method, r.URL.Path, core.ErrInvalid)
	} else if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the body is not the JSON that %s %s requires: %s cannot be a JSON %s: %w", r.Method, r.URL.Path, cmp.Or(e.Field, "it"), e.Value, core.ErrInvalid)
	} else if err != nil {
		return fmt.Errorf("the body is not the JSON that %s %s requires: %v: %w", r.Method, r.URL.Path, err, core.ErrInvalid)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("the body has more than the JSON object that %s %s requires: %w", r.Method, r.URL.Path, core.ErrInvalid)
	}
	return nil
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, status int, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	return answerRaw(w, status, b)
}

// marshal is json.Marshal without escaping of <, > and &: agents' lines are shown
// as they were written.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// answerRaw writes b, which is JSON.
func answerRaw(w http.ResponseWriter, status int, b []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = writeAll(w, b, []byte{'\n'}) // the caller may have left
	return nil
}

// notModified sets the answer's ETag, and answers 304 if the caller has that
// version.
func notModified(w http.ResponseWriter, r *http.Request, version string) bool {
	tag := `"` + version + `"`
	w.Header().Set("ETag", tag)
	for _, header := range r.Header.Values("If-None-Match") {
		for have := range strings.SplitSeq(header, ",") {
			have = strings.TrimPrefix(strings.TrimSpace(have), "W/")
			if have == tag || have == "*" {
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}

// notModifiedSinceCursor is notModified for an answer that depends on the
// session's cursor alone.
func notModifiedSinceCursor(w http.ResponseWriter, r *http.Request) bool {
	return notModified(w, r, w.Header().Get(api.HeaderCursor))
}

// maxText bounds labels, names, reasons and directories, in bytes.
const maxText = 4 << 10

// checkText checks the length of a caller's texts.
func checkText(words ...string) error {
	for _, s := range words {
		if len(s) > maxText {
			return fmt.Errorf("a text of %d bytes, %d are allowed: %w", len(s), maxText, core.ErrInvalid)
		}
	}
	return nil
}

// detailOf returns err as a problem document.
func detailOf(err error) api.Detail {
	d := api.Detail{Status: 500, Code: "internal", Title: "Internal error", Detail: err.Error(), Next: "See the node's log."}
	for _, p := range api.Problems {
		if errors.Is(err, p.Err) {
			d.Status, d.Code, d.Title, d.Next = p.Status, p.Code, p.Title, p.Next
			if p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden {
				d.Detail = strings.TrimSuffix(d.Detail, ": "+p.Err.Error()) // the title says it
			}
			break
		}
	}
	if errors.Is(err, blobstore.ErrRefused) {
		d.Next = "Nothing was stored. Do what the detail says, then retry the same request."
	}
	if _, ok := errors.AsType[*shareError](err); ok {
		d.Next = "Ask for a new link."
	}
	d.Type = "urn:sesslog:" + d.Code
	if e, ok := errors.AsType[*core.LineError](err); ok {
		d.Line, d.Entry = e.Line, e.ID
	}
	if e, ok := errors.AsType[*core.FencedError](err); ok {
		d.Head, d.Holder, d.Since, d.More = e.Head, e.Holder, e.Since, e.More
	}
	if e, ok := errors.AsType[*missingParts](err); ok {
		d.Missing = e.digests
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
func writeProblem(w http.ResponseWriter, err error) api.Detail {
	d := detailOf(err)
	writeDetail(w, d)
	return d
}

func writeDetail(w http.ResponseWriter, d api.Detail) {
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
		return // cannot happen: strings and numbers
	}
	_, _ = w.Write(append(b, '\n')) // the caller may have left
}
