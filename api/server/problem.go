package server

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

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
