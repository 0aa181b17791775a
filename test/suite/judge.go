package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// scenarioTimeout bounds one scenario.
const scenarioTimeout = 3 * time.Minute

// A tally counts what became of the scenarios.
type tally struct {
	kept, broken []string // names of scenarios
	skipped      int
}

func (t tally) failed() bool { return len(t.broken) > 0 || len(t.kept) == 0 }

func (t tally) String() string {
	return fmt.Sprintf("session server: %d of %d promises kept, %d skipped", len(t.kept), len(t.kept)+len(t.broken), t.skipped)
}

// judge runs the scenarios whose name contains only, and writes one line for each and
// one with the score.
func judge(ctx context.Context, s *server, all []scenario, only string, out io.Writer) (t tally) {
	for _, sc := range all {
		if ctx.Err() != nil {
			break
		}
		if !strings.Contains(sc.Name, only) {
			continue
		}
		if s.kill == nil && kills(sc.Steps) {
			t.skipped++
			fmt.Fprintf(out, "skip  %-20s needs -kill COMMAND\n", sc.Name)
			continue
		}
		if err := run(ctx, s, sc); err != nil {
			t.broken = append(t.broken, sc.Name)
			fmt.Fprintf(out, "FAIL  %-20s %s\n      %v\n", sc.Name, sc.Promise, err)
			continue
		}
		t.kept = append(t.kept, sc.Name)
		fmt.Fprintf(out, "ok    %-20s %s\n", sc.Name, sc.Promise)
	}
	fmt.Fprintln(out, t)
	return t
}

// run runs one scenario. It returns the first difference.
func run(ctx context.Context, s *server, sc scenario) error {
	ctx, cancel := context.WithTimeout(ctx, scenarioTimeout)
	defer cancel()
	r := &runner{server: s, vars: vars{"run": "suite-" + strings.ToLower(rand.Text()[:12])}}
	return r.steps(ctx, sc.Steps)
}

// A runner runs the steps of one scenario.
type runner struct {
	server *server
	mu     sync.Mutex // of vars
	vars   vars
}

func (r *runner) steps(ctx context.Context, steps []step) error {
	for i, s := range steps {
		if err := r.step(ctx, s); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *runner) step(ctx context.Context, s step) error {
	switch {
	case s.Kill:
		return r.server.kill(ctx)
	case s.Parallel != nil:
		return atOnce(len(s.Parallel), func(i int) error { return r.steps(ctx, s.Parallel[i]) })
	}
	times := max(s.Times, s.AtOnce, 1)
	others := make([]bool, times) // answered as Else has it
	each := func(i int) error {
		one, err := s.nth(i)
		if err == nil {
			others[i], err = r.request(ctx, one)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", one.Send, err)
		}
		return nil
	}
	var err error
	if s.AtOnce > 0 {
		err = atOnce(times, each)
	} else {
		for i := 0; i < times && err == nil; i++ {
			err = each(i)
		}
	}
	if err != nil || s.Else == nil {
		return err
	}
	n := 0
	for _, other := range others {
		if other {
			n++
		}
	}
	if n != s.Else.Count {
		return fmt.Errorf("%s: %d of %d answers are as else has it, want %d", s.Send, n, times, s.Else.Count)
	}
	return nil
}

// atOnce calls f n times at the same time, and returns the errors of all.
func atOnce(n int, f func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// request sends the request of a step and compares the answer. It reports whether that
// is the other one which the step allows.
func (r *runner) request(ctx context.Context, s step) (other bool, err error) {
	req, err := r.fill(s)
	if err != nil {
		return false, err
	}
	if s.Drop != "" {
		return false, r.server.drop(ctx, req, s.Drop)
	}
	if s.Want == nil {
		return false, errors.New("the step has no want")
	}
	var a answer
	var lines [][]byte
	if s.Want.Entries != nil {
		a, lines, err = r.server.follow(ctx, req, s.Want.Ends, len(expand(s.Want.Entries)))
	} else {
		a, err = r.server.read(ctx, req)
		for line := range bytes.Lines(a.body) {
			lines = append(lines, bytes.TrimRight(line, "\n"))
		}
	}
	if err != nil {
		return false, err
	}
	if err = r.compare(s.Want, a, lines); err != nil && s.Else != nil {
		if r.compare(s.Else, a, lines) == nil {
			return true, nil
		}
	}
	return false, err
}

// fill makes the request of a step, with the values of its variables.
func (r *runner) fill(s step) (req request, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var path string
	req.method, path, _ = strings.Cut(s.Send, " ")
	if req.path, err = r.vars.fill(path); err != nil {
		return req, err
	}
	req.header = http.Header{}
	for name, value := range s.Headers {
		if value, err = r.vars.fill(value); err != nil {
			return req, err
		}
		req.header.Set(name, value)
	}
	body := string(s.Body)
	for _, line := range s.Lines {
		var raw string
		if json.Unmarshal(line, &raw) == nil {
			line = []byte(raw)
		}
		body += string(line) + "\n"
	}
	body, err = r.vars.fill(body)
	req.body = []byte(body)
	return req, err
}

// compare compares an answer with what is wanted, and keeps the values of variables if
// it is.
func (r *runner) compare(w *want, a answer, lines [][]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.status != w.Status {
		return fmt.Errorf("status %d, want %d: %s", a.status, w.Status, show(string(a.body)))
	}
	v := maps.Clone(r.vars)
	for name, value := range w.Headers {
		if err := v.matchString(value, a.header.Get(name)); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	if w.JSON != nil {
		if err := v.matchLine(w.JSON, a.body); err != nil {
			return err
		}
	}
	if wants := append(w.Lines, w.Entries...); wants != nil {
		if err := v.matchLines(wants, lines, w.AnyOrder); err != nil {
			return err
		}
	}
	if w.Parents != "" {
		if err := matchParents(w.Parents, lines); err != nil {
			return err
		}
	}
	r.vars = v
	return nil
}
