package pi_test

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// What later versions of pi read out of the same lines, version 0.73.1 does not.
func TestV073ReadsFewerKinds(t *testing.T) {
	t.Parallel()
	const settings = `,"thinkingLevel":"off","model":null}`
	system := `{"type":"message","id":"s","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"system","content":"be brief"}}`
	summed := `{"type":"compaction","id":"c","parentId":"s","timestamp":"2026-01-02T03:04:05.000Z","summary":"S","firstKeptEntryId":"s","tokensBefore":1,"systemMessage":{"role":"system"}}`
	for what, c := range map[string]struct {
		lines []string
		want  string
	}{
		"a system message that a compaction kept stays, what it brings does not come": {
			[]string{system, summed},
			`{"role":"compactionSummary","summary":"S","tokensBefore":1,"timestamp":1767323045000},{"role":"system","content":"be brief"}`,
		},
		"no content stays none": {
			[]string{`{"type":"custom_message","id":"m","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","customType":"x","display":true}`},
			`{"role":"custom","customType":"x","display":true,"timestamp":1767323045000}`,
		},
		"content that is null stays null": {
			[]string{`{"type":"message","id":"m","parentId":null,"message":{"role":"user","content":null}}`},
			`{"role":"user","content":null}`,
		},
		"nothing is edited": {
			[]string{hello, `{"type":"context_edit","id":"e","parentId":"u1","targetId":"u1","replacement":null}`},
			helloM,
		},
		"an empty summary of a branch is none, a message that is null has no part": {
			[]string{`{"type":"branch_summary","id":"b","parentId":null,"summary":""}`, `{"type":"message","id":"m","parentId":"b","message":null}`},
			"",
		},
	} {
		got, err := pi.Dialect{V073: true}.Context(entries(t, c.lines...), core.Leaf{})
		if want := `{"messages":[` + c.want + `]` + settings; err != nil || string(got) != want {
			t.Errorf("%s:\n%s, %v\n%s", what, got, err, want)
		}
	}
}

// PI-39: version 0.73.1 makes a file once a model has answered.
func TestV073KeepsWhatAModelAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines    []string
		now, old bool
	}{{nil, false, false}, {[]string{hello}, true, false}, {[]string{hello, hi}, true, true}} {
		es := entries(t, c.lines...)
		if now, old := (pi.Dialect{}).Keeps(es), (pi.Dialect{V073: true}).Keeps(es); now != c.now || old != c.old {
			t.Errorf("%d entries: %v, %v", len(es), now, old)
		}
	}
}

func TestV073HasNoUsageEntries(t *testing.T) {
	t.Parallel()
	es := entries(t, `{"type":"usage","id":"u","usage":{"input":3}}`, `{"id":"x","usage":{"input":5}}`)
	h, err := pi.Dialect{}.Header([]byte(header))
	if err != nil {
		t.Fatal(err)
	}
	if now, old := (pi.Dialect{}).Summary(h, es).Usage.Input, (pi.Dialect{V073: true}).Summary(h, es).Usage.Input; now != 3 || old != 0 {
		t.Errorf("input %d, %d", now, old)
	}
	if name := (pi.Dialect{V073: true}).Name(); name != "pi" || strings.Contains(name, "@") {
		t.Errorf("the lines are called %q", name)
	}
}
