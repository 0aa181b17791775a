package server_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/image"
)

// If the log has a file's lines, their digest matches, images included.
func TestDigestMatchesStoredFile(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	picture := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("pixels", 300)))
	text := file(header, message("a", "", "1"),
		`{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"user","content":[{"type":"image","data":"`+picture+`","mimeType":"image/png"}],"timestamp":2}}`)
	n.importText(t, text)
	f, _, err := dialect.Read("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Entries {
		f.Entries[i].Line, _ = image.Externalize(f.Entries[i].Line)
	}
	for k := range f.Entries {
		got, err := n.Digest(t.Context(), "session-one", k)
		if want := api.DigestOf(f.Header, f.Entries[:k]); err != nil || got.SHA256 != want || got.Entries != k || got.Deleted {
			t.Errorf("the digest of %d entries is %+v, %v; want %s", k, got, err, want)
		}
	}
	if _, err := n.Append(t.Context(), "session-one", []byte(message("c", "b", "more")), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	all, err := n.Digest(t.Context(), "session-one", 100)
	if err != nil || all.Entries != 3 {
		t.Errorf("digest of too many entries: %+v, %v", all, err)
	}
	made, err := n.Checkpoint(t.Context(), "session-one")
	if err != nil || made.SHA256 != all.SHA256 {
		t.Errorf("the digest of the snapshot is %s, %v; want %s", made.SHA256, err, all.SHA256)
	}
	if err := n.Delete(t.Context(), "session-one", api.Notice{}); err != nil {
		t.Fatal(err)
	}
	if got, err := n.Digest(t.Context(), "session-one", 1); err != nil || !got.Deleted {
		t.Errorf("digest of a session in the trash: %+v, %v", got, err)
	}
	if _, err := n.Digest(t.Context(), "session-two", 1); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("digest of a missing session: %v", err)
	}
	if res, body := n.request(t, "GET", "/v1/sessions/session-one/digest?entries=-1", ""); res.StatusCode != 400 {
		t.Errorf("digest of a negative number of entries: %s %s", res.Status, body)
	}
}
