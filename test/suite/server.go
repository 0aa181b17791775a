package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

const (
	retryTimeout   = time.Minute      // how long a request is repeated
	requestTimeout = 30 * time.Second // of one attempt
	retryPause     = 100 * time.Millisecond
	maxAnswer      = 8 << 20
)

// A server is what is judged: the nodes of one log.
type server struct {
	urls  []string
	token string
	kill  func(context.Context) error // nil if it cannot be killed
	next  atomic.Uint64
}

// A request is one that is sent, and sent again.
type request struct {
	method, path string
	header       http.Header
	body         []byte
}

// An answer is the answer to a request, without or with its body.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request to the next node, and repeats it as a client must: if no answer
// comes, or one that says so. read gets the open answer.
func (s *server) send(ctx context.Context, r request, read func(*http.Response) error) error {
	ctx, cancel := context.WithTimeout(ctx, retryTimeout)
	defer cancel()
	for {
		err := s.try(ctx, r, read)
		if !errors.Is(err, errAgain) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v: %w", retryTimeout, err)
		case <-time.After(retryPause):
		}
	}
}

// errAgain is the error of an attempt after which the request is sent again.
var errAgain = errors.New("send it again")

func (s *server) try(ctx context.Context, r request, read func(*http.Response) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := s.request(ctx, r)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusTooManyRequests {
		b, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // for the message
		return fmt.Errorf("%w: %s: %s", errAgain, res.Status, b)
	}
	return read(res)
}

func (s *server) request(ctx context.Context, r request) (*http.Request, error) {
	base := strings.TrimSuffix(s.urls[s.next.Add(1)%uint64(len(s.urls))], "/")
	req, err := http.NewRequestWithContext(ctx, r.method, base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header = r.header.Clone()
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	return req, nil
}

// checkTimeout is how long a node may take to answer before it is judged.
const checkTimeout = 10 * time.Second

// check returns why the server cannot be judged, or nil: every node must answer, and accept
// the token. Otherwise each scenario would fail, after a minute.
func (s *server) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for range s.urls {
		req, err := s.request(ctx, request{method: http.MethodGet, path: "/v1/sessions?limit=1"})
		if err != nil {
			return fmt.Errorf("-url: %w", err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return fmt.Errorf("no answer from the server: %w\nhint: -url http://HOST:PORT", err)
		}
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // for the message
		_ = res.Body.Close()
		switch res.StatusCode {
		case http.StatusOK:
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Errorf("%s answers %s: %s\nhint: -token or SESS_TOKEN, of scope admin", req.URL, res.Status, show(string(body)))
		default:
			return fmt.Errorf("%s answers %s, not as a session server does: %s", req.URL, res.Status, show(string(body)))
		}
	}
	return nil
}

// drop sends a request once, and closes the connection: when it is "sent", or when it is
// "answered", without reading the answer.
func (s *server) drop(ctx context.Context, r request, when string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	trace := &httptrace.ClientTrace{GotFirstResponseByte: cancel}
	if when == "sent" {
		trace.WroteRequest = func(httptrace.WroteRequestInfo) { cancel() }
	}
	req, err := s.request(httptrace.WithClientTrace(ctx, trace), r)
	if err != nil {
		return err
	}
	if res, err := http.DefaultClient.Do(req); err == nil {
		_ = res.Body.Close()
	}
	return nil
}

// read sends a request and reads the whole answer.
func (s *server) read(ctx context.Context, r request) (a answer, err error) {
	err = s.send(ctx, r, func(res *http.Response) error {
		b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		if err != nil {
			return fmt.Errorf("%w: %w", errAgain, err)
		}
		a = answer{res.StatusCode, res.Header, b}
		return nil
	})
	return a, err
}

// follow reads the entries that a stream of events brings: all until it ends, or so
// many. If it breaks before, it continues after the last event that came.
func (s *server) follow(ctx context.Context, r request, ends bool, n int) (a answer, entries [][]byte, err error) {
	err = s.send(ctx, r, func(res *http.Response) error {
		a = answer{status: res.StatusCode, header: res.Header}
		if res.StatusCode != http.StatusOK {
			a.body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
			return err
		}
		err := events(res.Body, func(e event) bool {
			if e.id != "" {
				r.header.Set("Last-Event-ID", e.id)
			}
			if e.kind == "append" || e.kind == "open" {
				entries = append(entries, e.entries()...)
			}
			return ends || len(entries) < n
		})
		if ends && err == nil || !ends && len(entries) >= n {
			return nil
		}
		return fmt.Errorf("%w: the stream ended after %d of %d entries (%v)", errAgain, len(entries), n, err)
	})
	return a, entries, err
}

// An event is one server-sent event.
type event struct {
	id, kind string
	data     []byte
}

// entries returns the entries that an event brings, without the header of the session.
func (e event) entries() (all [][]byte) {
	var record struct {
		Entries []json.RawMessage `json:"entries"`
	}
	if json.Unmarshal(e.data, &record) != nil {
		return [][]byte{e.data} // not the entry that is wanted
	}
	for i, line := range record.Entries {
		if e.kind != "open" || i > 0 {
			all = append(all, line)
		}
	}
	return all
}

// events reads server-sent events until yield returns false. It returns nil at the end
// of the stream.
func events(r io.Reader, yield func(event) bool) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxAnswer)
	var e event
	for in.Scan() {
		name, value, _ := strings.Cut(in.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case in.Text() == "" && e.data != nil:
			if !yield(e) {
				return nil
			}
			e = event{}
		case name == "id":
			e.id = value
		case name == "event":
			e.kind = value
		case name == "data":
			e.data = append(e.data, value...)
		}
	}
	return in.Err()
}
