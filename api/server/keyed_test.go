package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// FLEET-04
func TestAppendWithAKeyNeverCollidesInLongSessions(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	derived := func(key string) string {
		sum := sha256.Sum256([]byte("session-one\x00" + key + "\x000"))
		return hex.EncodeToString(sum[:4])
	}
	lines := []string{header}
	parent := ""
	for i := range 300 {
		id := "e" + strconv.Itoa(i)
		if i == 280 {
			id = derived("fresh")
		}
		lines = append(lines, message(id, parent, "text "+strconv.Itoa(i)))
		parent = id
	}
	n.importText(t, file(lines...))
	said := `{"type":"message","message":{"role":"user","content":"hello"}}`
	for _, key := range []string{"fresh", "another"} {
		res, first := n.request(t, http.MethodPost, "/v1/sessions/session-one/entries", said, "Content-Type", ndjson, "Idempotency-Key", key)
		if res.StatusCode != http.StatusOK || !strings.Contains(first, `"stored":1`) || strings.Contains(first, derived(key)+`"`) {
			t.Fatalf("%s: %d %s", key, res.StatusCode, first)
		}
		res, again := n.request(t, http.MethodPost, "/v1/sessions/session-one/entries", said, "Content-Type", ndjson, "Idempotency-Key", key)
		if res.StatusCode != http.StatusOK || !strings.Contains(again, `"stored":0`) {
			t.Errorf("%s again: %d %s", key, res.StatusCode, again)
		}
		other := strings.Replace(said, "hello", "other", 1)
		if res, body := n.request(t, http.MethodPost, "/v1/sessions/session-one/entries", other, "Content-Type", ndjson, "Idempotency-Key", key); res.StatusCode != http.StatusConflict {
			t.Errorf("%s with another line: %d %s", key, res.StatusCode, body)
		}
	}
}

// FLEET-04
func TestAppendWithAKeyKeepsItsShortIDAsTheSessionGrows(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header))
	many := strings.Repeat(`{"type":"message","message":{"role":"user","content":"hello"}}`+"\n", 300)
	for _, stored := range []string{`"stored":300`, `"stored":0`} {
		res, body := n.request(t, http.MethodPost, "/v1/sessions/session-one/entries", many, "Content-Type", ndjson, "Idempotency-Key", "turn")
		if res.StatusCode != http.StatusOK || !strings.Contains(body, stored) {
			t.Fatalf("want %s: %d %.200s", stored, res.StatusCode, body)
		}
	}
	_, all := n.request(t, http.MethodGet, "/v1/sessions/session-one/entries", "")
	for i, line := range strings.Split(strings.TrimSpace(all), "\n") {
		id := line[strings.Index(line, `"id":"`)+6:]
		if short := strings.IndexByte(id, '"') == 8; short != (i < 256) {
			t.Fatalf("entry %d: %s", i, line)
		}
	}
}

// FLEET-04
func TestBranchWithAKeyIsFoundUnderItsShortID(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sum := sha256.Sum256([]byte("session-one\x00turn\x000"))
	short := hex.EncodeToString(sum[:4])
	lines := []string{header}
	parent := ""
	for i := range 300 {
		id := "e" + strconv.Itoa(i)
		lines = append(lines, message(id, parent, "text"))
		parent = id
	}
	// As a version stored it that had only short ids.
	lines = append(lines, `{"type":"branch_summary","fromId":"e299","summary":"tried","parentId":"e10","id":"`+short+`","timestamp":"2026-01-02T03:04:05.000Z"}`)
	n.importText(t, file(lines...))
	branch := func(at string) string {
		_, body := n.request(t, http.MethodPost, "/v1/sessions/session-one/branch", `{"at":{"id":"`+at+`"},"summary":"tried"}`, "Content-Type", "application/json", "Idempotency-Key", "turn")
		return body
	}
	if body := branch("e10"); !strings.Contains(body, `"stored":0`) || !strings.Contains(body, `"`+short+`"`) {
		t.Errorf("a retry: %s", body)
	}
	if body := branch("e20"); !strings.Contains(body, `"stored":1`) || strings.Contains(body, `"`+short+`"`) {
		t.Errorf("another request: %s", body)
	}
}

// The second of two requests with one key must not be lost without an error.
func TestKeyOfAnotherRequestIsAConflict(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	said := func(text string) string {
		return `{"type":"message","message":{"role":"user","content":"` + text + `"}}` + "\n"
	}
	n.importText(t, file(header, message("a", "", "one"), message("b", "a", "two")))
	const entries, branch = "/v1/sessions/session-one/entries", "/v1/sessions/session-one/branch"
	for i, c := range []struct{ first, body, path, other string }{
		{entries, said("x"), entries, said("y")},
		{entries, said("x"), branch, `{"at":{"id":"a"},"summary":"tried"}`},
		{branch, `{"at":{"id":"a"},"summary":"tried"}`, branch, `{"at":{"id":"a"},"summary":"else"}`},
		{branch, `{"at":{"id":"a"},"summary":"tried","details":{"n":1}}`, branch, `{"at":{"id":"a"},"summary":"tried","details":{"n":2}}`},
		{branch, `{"at":{"id":"a"},"summary":"tried"}`, branch, `{"at":{"id":"b"},"summary":"tried"}`},
		{branch, `{"at":{"none":true},"summary":"tried"}`, branch, `{"at":{"id":"b"},"summary":"tried"}`},
	} {
		post := func(path, body string) (int, string) {
			kind := ndjson
			if path == branch {
				kind = "application/json"
			}
			res, answer := n.request(t, http.MethodPost, path, body, "Content-Type", kind, "Idempotency-Key", "key "+strconv.Itoa(i))
			return res.StatusCode, answer
		}
		if status, answer := post(c.first, c.body); status != http.StatusOK || !strings.Contains(answer, `"stored":1`) {
			t.Fatalf("%s: %d %s", c.body, status, answer)
		}
		if status, answer := post(c.path, c.other); status != http.StatusConflict || !strings.Contains(answer, `"code":"conflict"`) {
			t.Errorf("%s after %s: %d %s", c.other, c.body, status, answer)
		}
		if status, answer := post(c.first, c.body); status != http.StatusOK || !strings.Contains(answer, `"stored":0`) {
			t.Errorf("%s again: %d %s", c.body, status, answer)
		}
	}
}
