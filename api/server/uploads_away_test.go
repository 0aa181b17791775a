package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
)

// A network has nodes in memory, by their hosts, so that a test has its clock to
// itself.
type network map[string]*place

// A place is a node that takes one upload, and counts its bytes.
type place struct {
	away  func() bool // whether it takes no connection; nil where it always does
	deny  string      // the code with which it begins no upload
	begun int
	bytes int64
}

// startNetwork returns nodes at a, b and c, and a client that asks them in turn.
func startNetwork() (network, *client.Client) {
	n := network{"a": {}, "b": {}, "c": {}}
	c := client.ClientOf([]string{"http://a", "http://b", "http://c"}, "")
	c.HTTP = &http.Client{Transport: n}
	return n, c
}

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	p := n[r.URL.Host]
	if p.away != nil && p.away() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}

func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status := http.StatusNoContent
	switch {
	case r.URL.Path == "/v1/uploads" && p.deny != "":
		w.WriteHeader(http.StatusNotImplemented)
		_ = json.NewEncoder(w).Encode(api.Detail{Code: p.deny})
		return
	case r.URL.Path == "/v1/uploads":
		p.begun++
		w.Header().Set("Location", "/v1/uploads/one")
		status = http.StatusCreated
	case r.Method == http.MethodPatch:
		n, _ := io.Copy(io.Discard, r.Body)
		p.bytes += n
	}
	w.Header().Set(api.HeaderUploadOffset, fmt.Sprint(p.bytes))
	w.WriteHeader(status)
}

// awayFor has a node take no connection from the first bytes that were sent on.
func awayFor(d time.Duration, since *time.Time) func() bool {
	return func() bool { return !since.IsZero() && time.Since(*since) < d }
}

// A sent upload is what its sender was told of it.
type sent struct {
	large client.Large
	first time.Time // when the first bytes were sent
	moved []string  // from, to and when after first
}

// zeros are as many as are asked for.
type zeros struct{}

func (zeros) ReadAt(b []byte, _ int64) (int, error) {
	clear(b)
	return len(b), nil
}

// sending is an upload of so many parts.
func sending(parts int64) *sent {
	s := &sent{large: client.Large{Bytes: zeros{}, Size: parts * 4 << 20}}
	s.large.Sent = func(int64) {
		if s.first.IsZero() {
			s.first = time.Now()
		}
	}
	s.large.Moved = func(from, to string) {
		s.moved = append(s.moved, from, to, time.Since(s.first).Truncate(time.Second).String())
	}
	return s
}

func TestRefusedConnectionsWithAnswersInBetweenMoveNoUpload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes, c := startNetwork()
		requests := 0
		nodes["a"].away = func() bool { // each part once, and takes it the next time
			requests++
			return requests%3 == 0
		}
		s := sending(80)
		began := time.Now()
		if err := c.PutLargeBlob(t.Context(), s.large); err != nil {
			t.Fatal(err)
		}
		if nodes["a"].bytes != s.large.Size || s.moved != nil {
			t.Errorf("the node got %d bytes of %d, and the sender went %q", nodes["a"].bytes, s.large.Size, s.moved)
		}
		if took := time.Since(began); took < 7*time.Second {
			t.Errorf("it took %v, in which no node is left", took)
		}
	})
}

func TestAnUploadBeginsAnewElsewhereAfterSixSecondsAndNoSooner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		away  time.Duration
		moved string
	}{
		{3 * time.Second, ""},
		{5 * time.Second, ""},
		{time.Hour, "http://a http://b 6s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			nodes, cl := startNetwork()
			s := sending(3)
			nodes["a"].away = awayFor(c.away, &s.first)
			if err := cl.PutLargeBlob(t.Context(), s.large); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.moved, " "); got != c.moved {
				t.Errorf("away for %v: the upload went %q, want %q", c.away, got, c.moved)
			}
		})
	}
}

// Whenever its network comes back, and whichever node it asked last then.
func TestASenderThatHadNoNetworkGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	for away := time.Second; away <= 100*time.Second; away += time.Second {
		synctest.Test(t, func(t *testing.T) {
			nodes, c := startNetwork()
			s := sending(3)
			for _, n := range nodes {
				n.away = awayFor(away, &s.first)
			}
			if err := c.PutLargeBlob(t.Context(), s.large); err != nil {
				t.Fatalf("away for %v: %v", away, err)
			}
			if a := nodes["a"]; a.bytes != s.large.Size || a.begun != 1 || s.moved != nil {
				t.Errorf("away for %v: its node got %d bytes of %d, and the sender went %q", away, a.bytes, s.large.Size, s.moved)
			}
			if err := c.PutLargeBlob(t.Context(), sending(3).large); err != nil || nodes["a"].begun != 2 {
				t.Errorf("away for %v: the client does not ask its node first any more: %v", away, err)
			}
		})
	}
}

func TestAnUploadWhoseNodeIsGoneGoesToTheFirstThatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes, c := startNetwork()
		s := sending(3)
		nodes["a"].away = awayFor(time.Hour, &s.first)
		nodes["b"].away = awayFor(time.Hour, &s.first)
		nodes["c"].away = awayFor(20*time.Second, &s.first)
		if err := c.PutLargeBlob(t.Context(), s.large); err != nil {
			t.Fatal(err)
		}
		if len(s.moved) != 3 || s.moved[1] != "http://c" || nodes["c"].bytes != s.large.Size {
			t.Errorf("the upload went %q, and c got %d bytes of %d", s.moved, nodes["c"].bytes, s.large.Size)
		}
	})
}

// Then the whole goes to that node at once.
func TestAnUploadWhoseNodeIsGoneEndsWhereTheNextTakesNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes, c := startNetwork()
		s := sending(3)
		nodes["a"].away = awayFor(time.Hour, &s.first)
		nodes["b"].deny = "no-uploads"
		if err := c.PutLargeBlob(t.Context(), s.large); !errors.Is(err, client.ErrNoParts) {
			t.Errorf("%v, want %v", err, client.ErrNoParts)
		}
		nodes["a"].away, nodes["b"].deny = nil, ""
		if err := c.PutLargeBlob(t.Context(), sending(1).large); err != nil || nodes["b"].begun != 1 {
			t.Errorf("the client does not ask the node first that answered: %v", err)
		}
	})
}
