package agent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/redact"
	"github.com/sesslog/sesslog/internal/hint"
)

// An opencodeServer is opencode's own server, started for a few requests. It
// listens on loopback and requires a password that only this process knows.
type opencodeServer struct {
	url      string
	password string
	stop     func()
}

// Limits of a server and of what it is asked.
const (
	opencodeStart   = time.Minute
	opencodeRequest = time.Minute
	opencodeAnswer  = 1 << 30 // bytes of an answer
	opencodeBatch   = 4 << 20 // bytes of events in a request, unless one event is larger
)

// startOpencode starts `opencode serve` in dir.
func startOpencode(ctx context.Context, dir string) (*opencodeServer, error) {
	bin, err := exec.LookPath("opencode")
	if err != nil {
		return nil, hint.With(fmt.Errorf("opencode is not installed here: %w", core.ErrNotFound),
			"install it, or write the session for opencode import with: sessctl export SESSION --home DIR --cwd DIR")
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &opencodeServer{password: rand.Text()}
	cmd := exec.CommandContext(ctx, bin, "serve", "--hostname", "127.0.0.1", "--port", "0")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OPENCODE_SERVER_PASSWORD="+s.password, "OPENCODE_SERVER_USERNAME=opencode")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	out, in, err := os.Pipe()
	if err != nil {
		cancel()
		return nil, err
	}
	cmd.Stdout = in
	if err = cmd.Start(); err != nil {
		cancel()
		_, _ = in.Close(), out.Close()
		return nil, fmt.Errorf("start opencode: %w", err)
	}
	_ = in.Close()
	s.stop = func() {
		cancel()
		_ = cmd.Wait()
		_ = out.Close()
	}
	_ = out.SetReadDeadline(time.Now().Add(opencodeStart))
	if s.url = listeningOn(out); s.url == "" {
		s.stop()
		return nil, errors.New("opencode serve did not start to listen")
	}
	_ = out.SetReadDeadline(time.Time{})
	go func() { _, _ = io.Copy(io.Discard, out) }() // until stop closes it
	return s, nil
}

// listeningOn returns the address that a server prints, or "" if it prints none.
func listeningOn(out io.Reader) string {
	lines := bufio.NewScanner(io.LimitReader(out, 1<<20))
	for lines.Scan() {
		_, address, ok := strings.Cut(lines.Text(), "listening on ")
		if u, err := url.Parse(strings.TrimSpace(address)); ok && err == nil && u.Scheme == "http" && u.Hostname() == "127.0.0.1" {
			return "http://" + u.Host
		}
	}
	return ""
}

// put sends the events of a session that is to continue in dir. opencode ignores
// those that it has, and rejects different ones with the same numbers.
func (s *opencodeServer) put(ctx context.Context, f *core.File, dir string) error {
	var project struct{ ID, Worktree string }
	if err := s.ask(ctx, http.MethodGet, "/project/current?directory="+url.QueryEscape(dir), nil, &project); err != nil {
		return err
	}
	id, events := opencode.Replay(f.Header, f.Entries, opencode.Place{Directory: dir, Root: project.Worktree, Project: project.ID})
	for len(events) > 0 {
		n, size := 0, 0
		for n < len(events) && (n == 0 || size+len(events[n]) <= opencodeBatch) {
			size += len(events[n])
			n++
		}
		body, err := json.Marshal(map[string]any{"directory": dir, "events": events[:n]})
		if err != nil {
			return err
		}
		if err := s.ask(ctx, http.MethodPost, "/sync/replay", body, nil); err != nil {
			return hint.With(fmt.Errorf("opencode rejects the events of session %s: it may have different events with the same numbers: %w", id, err),
				"see what it has with: opencode export %s > FILE", id)
		}
		events = events[n:]
	}
	return nil
}

// grown returns the events of the session that opencode wrote after the log, as a
// list, or nil if there are none.
func (s *opencodeServer) grown(ctx context.Context, f *core.File) ([]byte, error) {
	last, same, ok := opencode.Since(f.Header, f.Entries)
	if !ok {
		return nil, nil
	}
	events, err := s.history(ctx, f.Header.ID, same-1)
	if err != nil {
		return nil, err
	}
	return opencode.Grown(f.Header.ID, events, last, same), nil
}

// history returns the events that opencode has of a session after one of them, and
// those of other sessions.
func (s *opencodeServer) history(ctx context.Context, id string, after int64) (events []json.RawMessage, err error) {
	body, err := json.Marshal(map[string]int64{id: after})
	if err != nil {
		return nil, err
	}
	return events, s.ask(ctx, http.MethodPost, "/sync/history", body, &events)
}

// unmask gives the events of f the secrets that opencode has of them.
func (s *opencodeServer) unmask(ctx context.Context, f *core.File) error {
	if redact.Masks(core.Lines(f.Entries)) == nil {
		return nil
	}
	events, err := s.history(ctx, f.Header.ID, -1)
	if err != nil {
		return err
	}
	u := &unmasker{}
	for _, ev := range events {
		u.local = append(u.local, ev)
	}
	for i := range f.Entries {
		f.Entries[i].Line = u.line(f.Entries[i].Line)
	}
	return nil
}

// ask sends a request and reads the answer into answer, unless that is nil.
func (s *opencodeServer) ask(ctx context.Context, method, path string, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, opencodeRequest)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.SetBasicAuth("opencode", s.password)
	q.Header.Set("Content-Type", "application/json")
	direct := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	res, err := direct.Do(q)
	if err != nil {
		return fmt.Errorf("opencode serve: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, opencodeAnswer))
	if err != nil {
		return fmt.Errorf("opencode serve: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("opencode serve answers %s with %d: %.200s: %w", strings.SplitN(path, "?", 2)[0], res.StatusCode, text, core.ErrConflict)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
