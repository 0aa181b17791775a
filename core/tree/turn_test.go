package tree_test

import (
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/tree"
)

func TestTurnEndsWithAnAnswerThatCallsNoTool(t *testing.T) {
	t.Parallel()
	d, err := dialect.Named("pi")
	if err != nil {
		t.Fatal(err)
	}
	line := func(message string) string {
		return `{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":` + message + `}`
	}
	const name = `{"type":"session_info","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:06.000Z","name":"x"}`
	user := line(`{"role":"user","content":"hi","timestamp":1}`)
	call := line(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":{}}],"stopReason":"toolUse","timestamp":1}`)
	answer := line(`{"role":"assistant","content":[{"type":"text","text":"hi"}],"stopReason":"stop","timestamp":1}`)
	aborted := line(`{"role":"assistant","content":[],"stopReason":"aborted","timestamp":1}`)
	for _, c := range []struct {
		lines []string
		ended bool
	}{
		{nil, false},
		{[]string{name}, false},
		{[]string{user}, false},
		{[]string{answer, call}, false},
		{[]string{call, answer}, true},
		{[]string{aborted, name}, true},
		{[]string{answer, user}, false},
	} {
		var es []core.Entry
		for _, l := range c.lines {
			e, err := d.Entry([]byte(l))
			if err != nil {
				t.Fatal(err)
			}
			es = append(es, e)
		}
		if got := tree.TurnEnded(d, es); got != c.ended {
			t.Errorf("%q: %t", c.lines, got)
		}
	}
}
