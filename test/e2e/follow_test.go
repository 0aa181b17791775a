package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// readEvents reads the output of `sessctl tail -o json`.
func readEvents(r io.Reader, to chan<- api.Event) {
	for s := bufio.NewReader(r); ; {
		line, err := s.ReadBytes('\n')
		if err != nil {
			return
		}
		var ev api.Event
		if json.Unmarshal(line, &ev) != nil {
			return
		}
		to <- ev
	}
}

// receive returns the next n events.
func receive(t *testing.T, from <-chan api.Event, n int) []api.Event {
	t.Helper()
	var evs []api.Event
	for range n {
		evs = append(evs, next(t, from, fmt.Sprintf("event %d of %d", len(evs)+1, n)))
	}
	return evs
}

// receiveUpTo returns the next events, up to the one at cursor end.
func receiveUpTo(t *testing.T, from <-chan api.Event, end core.Cursor) []api.Event {
	t.Helper()
	for evs := []api.Event(nil); ; {
		ev := next(t, from, "the event of "+end.String())
		evs = append(evs, ev)
		if ev.Seq >= end.Seq {
			return evs
		}
	}
}

func next(t *testing.T, from <-chan api.Event, what string) api.Event {
	t.Helper()
	select {
	case ev := <-from:
		return ev
	case <-time.After(harness.WaitTimeout):
		t.Fatalf("%s did not arrive", what)
		return api.Event{}
	}
}

// gapless fails the test unless evs has every record of a session once.
func gapless(t *testing.T, who string, evs []api.Event, end core.Cursor) {
	t.Helper()
	for i, ev := range evs {
		if ev.Seq != uint64(i)+1 || ev.Cursor.Seq != ev.Seq {
			t.Fatalf("%s: event %d is record %d (%s)", who, i+1, ev.Seq, ev.Cursor)
		}
	}
	if last := evs[len(evs)-1].Cursor; last != end {
		t.Errorf("%s: the last record is %s, the session's %s", who, last, end)
	}
}

// linesOf returns the session file that the events add up to.
func linesOf(evs []api.Event) []byte {
	var b bytes.Buffer
	for _, ev := range evs {
		for _, line := range ev.Entries {
			b.Write(append(line, '\n'))
		}
	}
	return b.Bytes()
}
