package claude

import (
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
)

// A head of the log is where the agent would continue, after every record.
func TestHeadFollowsTheAgentsRule(t *testing.T) {
	t.Parallel()
	f := session(t, prompt(0, "a", "", "one"), answer(1, "b", "a", "m1", words("hi")), leafLine("b"))
	s := core.NewState("log", "session-1", core.Dialects{"claude": Dialect{}})
	apply := func(kind core.Kind, body []byte) {
		t.Helper()
		r := &core.Record{Kind: kind, Seq: s.Seq + 1, Head: core.MainHead, Body: body}
		r.Chain = s.Chain.Next(r)
		if err := s.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	body, err := core.OpenBody(core.Origin{Dialect: "claude"}, f.Header, f.Entries)
	if err != nil {
		t.Fatal(err)
	}
	apply(core.KindOpen, body)
	fold := func(want string, lines ...string) {
		t.Helper()
		es := make([]core.Entry, len(lines))
		for i, line := range lines {
			if es[i], err = (Dialect{}).Fill([]byte(line), core.Fields{ID: "line-" + want + line[:20]}); err != nil {
				t.Fatal(err)
			}
		}
		apply(core.KindAppend, core.LinesBody(es))
		if got, _ := s.Leaf(core.MainHead).ID(); got != want {
			t.Errorf("after %s the head is at %q, want %q", dialecttest.IDs(es), got, want)
		}
	}
	fold("c", prompt(2, "c", "b", "two"))
	fold("c", `{"type":"mode","mode":"plan"}`)
	fold("b", prompt(3, "d", "a", "other way")) // no record names this branch yet
	fold("d", leafLine("d"))
	fold("e", answer(4, "e", "d", "m2", words("ho")))
	fold("c", leafLine("c"))
}
