package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// startDoor is a way to a node that can be shut for good: then nobody takes a
// connection there.
func startDoor(t *testing.T, n *node) *httptest.Server {
	t.Helper()
	to, err := url.Parse(n.Base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	door := httptest.NewServer(proxy)
	t.Cleanup(door.Close)
	return door
}

// closeDoor ends a door's connections and takes no more.
func closeDoor(door *httptest.Server) {
	_ = door.Listener.Close()
	door.CloseClientConnections()
}

func TestALargeImportBeginsAnewWhereItsNodeIsGone(t *testing.T) {
	t.Parallel()
	first, second := startNode(t, withUploads(t)), startNode(t, withUploads(t))
	door := startDoor(t, first)
	c := client.ClientOf([]string{door.URL, second.Base}, "")
	t.Cleanup(c.HTTP.CloseIdleConnections)
	file := largeSession("large-one", 9<<20)
	large := client.LargeBytes(file)
	var sent int64
	var moved []string
	large.Sent = func(n int64) {
		if sent == 0 {
			closeDoor(door)
		}
		sent += n
	}
	large.Moved = func(from, to string) { moved = append(moved, from, to) }
	done, err := c.ImportLarge(t.Context(), large, client.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(moved) != 2 || moved[0] != door.URL || moved[1] != second.Base {
		t.Errorf("it was told of %q", moved)
	}
	body, err := second.Export(t.Context(), string(done.Session), false)
	if read(t, body, err) != string(file) {
		t.Error("the log has another file")
	}
	if sent != int64(len(file)) {
		t.Errorf("%d bytes were told of, the file has %d", sent, len(file))
	}
}

// A node keeps no file for a day that it has refused.
func TestAnUploadThatIsRefusedIsEnded(t *testing.T) {
	t.Parallel()
	n := startNode(t, withUploads(t))
	if _, err := n.ImportLarge(t.Context(), client.LargeBytes(largeSession("session-one", 1000)), client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	contradicts := []byte(`{"type":"session","version":3,"id":"session-one","timestamp":"2027-01-02T03:04:05.000Z","cwd":"/elsewhere"}` + "\n" +
		message("00000001", "", "other words") + "\n")
	for _, c := range []struct {
		what string
		file []byte
		want error
	}{
		{"a file that contradicts the log", contradicts, core.ErrConflict},
		{"no session file", []byte("words of nobody's\n"), core.ErrInvalid},
	} {
		if _, err := n.ImportLarge(t.Context(), client.LargeBytes(c.file), client.ImportOptions{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
		if got := n.offset(t, n.begun(t, c.file)); got != "200 0" {
			t.Errorf("of %s the node still has what it was sent: %s", c.what, got)
		}
	}
}
