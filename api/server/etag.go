package server

import (
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/api"
)

// notModified gives the answer a version, and ends it with 304 where the caller
// has that version already.
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

// asOfCursor is notModified for an answer that a session's cursor tells all of.
func asOfCursor(w http.ResponseWriter, r *http.Request) bool {
	return notModified(w, r, w.Header().Get(api.HeaderCursor))
}
