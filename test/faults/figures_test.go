package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// figures are what a test came to.
type figures struct {
	Faults   map[string]int // by kind
	Recovery time.Duration  // longest from the end of a fault to the first answer after it

	operations, acked, refused, unsure int
	gap                                time.Duration

	lost, duplicated, reordered, dangling int
}

func (f *figures) fault(kind string) {
	if f.Faults == nil {
		f.Faults = map[string]int{}
	}
	f.Faults[kind]++
}

func (f *figures) recovered(in time.Duration) { f.Recovery = max(f.Recovery, in) }

// add compares what w was told with what the session holds.
func (f *figures) add(t *testing.T, w *writers, file []byte) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	f.operations += int(w.tries.Load())
	f.refused += int(w.refused.Load())
	f.unsure += int(w.unsure.Load())
	f.acked += len(w.acked)
	f.gap = max(f.gap, w.gap)
	byID, places := map[string]int{}, map[string]int{}
	latest := map[int]int{}
	for n, e := range entriesOf(t, file) {
		if _, twice := byID[e.ID]; twice {
			f.duplicated++
		}
		if _, there := byID[e.parent()]; e.parent() != "" && !there {
			f.dangling++
		}
		byID[e.ID] = n
		s, ok := parseSaid(e.text())
		if !ok {
			continue
		}
		if _, twice := places[e.text()]; twice {
			f.duplicated++
		}
		places[e.text()] = n
		if s.n < latest[s.who] {
			f.reordered++
		}
		latest[s.who] = max(s.n, latest[s.who])
	}
	for id, words := range w.acked {
		at, there := byID[id]
		if where, said := places[words]; !there || !said || where != at {
			f.lost++
		}
	}
}

// report logs f, and fails the test where a promise was broken.
func (f *figures) report(t *testing.T) {
	t.Helper()
	var faults []string
	for _, kind := range slices.Sorted(maps.Keys(f.Faults)) {
		faults = append(faults, fmt.Sprintf("%s %d", kind, f.Faults[kind]))
	}
	t.Logf("figures: %d operations (%d refused, %d unanswered); faults: %s; %d acknowledged, %d lost, %d duplicated, %d reordered, %d dangling; longest write gap %v, recovery %v",
		f.operations, f.refused, f.unsure, strings.Join(faults, ", "), f.acked, f.lost, f.duplicated, f.reordered, f.dangling,
		f.gap.Round(time.Millisecond), f.Recovery.Round(time.Millisecond))
	if f.lost+f.duplicated+f.reordered+f.dangling > 0 {
		t.Error("a promise is broken: see the figures")
	}
	if f.acked == 0 {
		t.Error("nothing was acknowledged: this has shown nothing")
	}
}

// An entry is what the tests look at in a line.
type entry struct {
	ID       string          `json:"id"`
	ParentID *string         `json:"parentId"`
	Message  json.RawMessage `json:"message"`
}

func (e entry) parent() string {
	if e.ParentID == nil {
		return ""
	}
	return *e.ParentID
}

func (e entry) text() string {
	var m struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(e.Message, &m) != nil || len(m.Content) == 0 {
		return ""
	}
	return m.Content[0].Text
}

// entriesOf reads the entries of a session file.
func entriesOf(t *testing.T, file []byte) []entry {
	t.Helper()
	var es []entry
	for i, line := range bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n")) {
		if i == 0 {
			continue // the header
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("line %d of the session: %v", i+1, err)
		}
		es = append(es, e)
	}
	return es
}

// newSession makes an empty session.
func newSession(t *testing.T, c *client.Client) string {
	t.Helper()
	made, err := c.Create(harness.Timeout(t), api.Create{CWD: "/home/tester"})
	if err != nil {
		t.Fatal(err)
	}
	return string(made.ID)
}

// say appends one message.
func say(t *testing.T, c *client.Client, id, words string, o client.AppendOptions) core.Receipt {
	t.Helper()
	done, err := c.Append(harness.Timeout(t), id, []byte(harness.Message("user", words)), o)
	if err != nil {
		t.Fatalf("append %q to session %s: %v", words, id, err)
	}
	return done
}

// export returns the session as its agent's file, or why not.
func export(t *testing.T, c *client.Client, id string) ([]byte, error) {
	t.Helper()
	body, err := c.Export(harness.Timeout(t), id, false)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

func mustExport(t *testing.T, c *client.Client, id string) []byte {
	t.Helper()
	b, err := export(t, c, id)
	if err != nil {
		t.Fatalf("export of session %s: %v", id, err)
	}
	return b
}

// problems are what verify finds.
func problems(t *testing.T, c *client.Client, id string) []report.Problem {
	t.Helper()
	r, err := c.Verify(harness.Timeout(t), id)
	if err != nil {
		t.Fatalf("verify of session %s: %v", id, err)
	}
	return r.Problems
}

// intact fails the test where verify finds a problem.
func intact(t *testing.T, c *client.Client, id string) {
	t.Helper()
	for _, p := range problems(t, c, id) {
		t.Errorf("verify of session %s: %s: %s: %s", id, p.Kind, p.What, p.Detail)
	}
}

func countOf(t *testing.T, c *client.Client, id string) int {
	t.Helper()
	info, err := c.Info(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return info.EntryCount
}
