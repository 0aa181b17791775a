package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// clip shortens what a caller sent and is told again.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// readJSON reads the request's body into v. Members that v does not have are an
// error: a misspelt one would be ignored.
func readJSON(r *http.Request, v any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err == io.EOF {
		return fmt.Errorf("the body is empty; %s %s asks for a JSON object, {} at least: %w", r.Method, r.URL.Path, core.ErrInvalid)
	} else if err != nil {
		return fmt.Errorf("the body is not the JSON that %s %s asks for: %v: %w", r.Method, r.URL.Path, err, core.ErrInvalid)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("the body goes on behind the JSON object that %s %s asks for: %w", r.Method, r.URL.Path, core.ErrInvalid)
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

// marshal is json.Marshal that leaves <, > and & as they are: agents' lines are
// shown as they were written.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// answerRaw writes JSON that is made already.
func answerRaw(w http.ResponseWriter, status int, b []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a caller that has gone is no error of ours
	return nil
}

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

// notModifiedSinceCursor is notModified for an answer that a session's cursor tells all of.
func notModifiedSinceCursor(w http.ResponseWriter, r *http.Request) bool {
	return notModified(w, r, w.Header().Get(api.HeaderCursor))
}

// maxText bounds what a caller may say in one word or sentence: labels, names,
// reasons, directories.
const maxText = 4 << 10

// checkText bounds a caller's words.
func checkText(words ...string) error {
	for _, s := range words {
		if len(s) > maxText {
			return fmt.Errorf("a text of %d bytes, %d are allowed: %w", len(s), maxText, core.ErrInvalid)
		}
	}
	return nil
}
