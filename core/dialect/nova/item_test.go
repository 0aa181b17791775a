package nova_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/item"
)

func TestDecisionRoundTrip(t *testing.T) {
	t.Parallel()
	d := nova.Dialect{}
	its := d.Read(entries(t, must(t)(nova.NewTask(1, &nova.Decision{Decision: "D", Rationale: "R"}, nova.DefaultLimits)))[0])
	if len(its) != 1 || its[0].Kind != item.Note || its[0].Blocks[0].Text != "Decision: D\nRationale: R" || its[0].Time != later {
		t.Fatalf("%+v", its)
	}
	line, lost := d.Write(its[0])
	s := nova.Fold(header(t), entries(t, line))
	want := []nova.Decision{{Decision: "D", Rationale: "R", Timestamp: "2026-03-01T10:00:00.000000"}}
	if diff := cmp.Diff(want, s.Decisions); diff != "" || lost != nil {
		t.Errorf("lost %v %s", lost, diff)
	}
}

// NOVA-29
func TestWriteRejectsContent(t *testing.T) {
	t.Parallel()
	d := nova.Dialect{}
	long := strings.Repeat("é", 16<<10)
	for _, c := range []struct {
		it   item.Item
		plan string
		lost int
	}{
		{item.Item{Kind: item.Compaction, Text: "what was done", Target: "x"}, "what was done", 1},
		{item.Item{Kind: item.Branch, Text: long}, long[:16<<10], 1},
		{item.Item{Kind: item.Model, Model: "m", Provider: "p"}, "", 1},
		{item.Item{Kind: item.Name, Text: "n"}, "", 1},
		{item.Item{Kind: item.Label, Text: "l", Target: "e0"}, "", 1},
	} {
		line, lost := d.Write(c.it)
		if line == nil || len(lost) != c.lost {
			t.Errorf("%s: %s, lost %v", c.it.Kind, line, lost)
			continue
		}
		if s := nova.Fold(header(t), entries(t, line)); s.CurrentPlan != c.plan {
			t.Errorf("%s: the plan is %d bytes: %.40q", c.it.Kind, len(s.CurrentPlan), s.CurrentPlan)
		}
	}
	for _, it := range []item.Item{
		{Kind: item.Message, Role: item.RoleAssistant},
		{Kind: item.Custom, Type: "x"},
		{Kind: item.Level, Text: "high"},
		{Kind: item.Note, Type: "nova.decision", Details: []byte(`[`)},
		{Kind: item.Note, Type: "other", Details: []byte(`{}`)},
		{Kind: item.Model},
	} {
		if line, _ := d.Write(it); line != nil {
			t.Errorf("%s: %s", it.Kind, line)
		}
	}
}
