package durablestreams

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
)

func TestPathsHaveSessionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[core.SessionID]string{}
	for _, path := range []string{
		"a", "a/b", "a__b", "a_b", "a_2fb", "a%2Fb", "a b", "A", "ä", "x_g2", strings.Repeat("y", 2000), strings.Repeat("y", 2001),
		strings.Repeat("/", 90), strings.Repeat("_", 90), "team-a/" + strings.Repeat("z", 200),
	} {
		for generation := range 3 {
			id := SessionID(path, generation+1)
			if _, err := core.ParseSessionID(string(id)); err != nil {
				t.Errorf("%.40q: %v", path, err)
			}
			if other, ok := seen[id]; ok {
				t.Errorf("%.40q and %.40q have the session %s", path, other, id)
			}
			seen[id] = path
		}
	}
	if id := SessionID("team-a/"+strings.Repeat("z", 200), 1); !strings.HasPrefix(string(id), "ds-team-a__zz") {
		t.Errorf("a token's prefix does not reach %s", id)
	}
}

func TestOffsetsSortAsText(t *testing.T) {
	t.Parallel()
	last := ""
	for _, n := range []int64{0, 1, 9, 10, 99, 1 << 20, 1 << 40, 9999999999999999} {
		s := formatOffset(n)
		if s <= last {
			t.Errorf("%s does not sort after %s", s, last)
		}
		last = s
		if got, ok := parseOffset(s); !ok || got != n {
			t.Errorf("%s is read as %d, %v", s, got, ok)
		}
	}
	for _, bad := range []string{"", "0", "-2", "0,1", "0 1", "0000000000000000_1", "0000000000000001_0000000000000001", "now "} {
		if _, err := startOf(url.Values{"offset": {bad}}); err == nil {
			t.Errorf("offset %q is accepted", bad)
		}
	}
}

func TestCursorsAlwaysGrow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cursor := nextCursor("", now)
	for range 100 {
		next := nextCursor(cursor, now)
		if len(next) < len(cursor) || len(next) == len(cursor) && next <= cursor {
			t.Fatalf("%s follows %s", next, cursor)
		}
		cursor = next
	}
}

func TestDataCannotBeginAnotherEvent(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	writeData(&b, "a\r\n\r\nevent: control\rdata:x\n\n  b")
	for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n\n"), "\n") {
		if !strings.HasPrefix(line, "data:") {
			t.Errorf("the line %q is no data", line)
		}
	}
	if strings.Contains(strings.TrimSuffix(b.String(), "\n\n"), "\n\n") {
		t.Errorf("the event ends early: %q", b.String())
	}
}
