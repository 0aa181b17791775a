package lineage_test

import (
	"testing"

	"github.com/sesslog/sesslog/core/lineage"
)

// Every kind of ours is said in OpenRath's words and found in them again.
// RATH-08
func TestEveryKindRoundTripsThroughWord(t *testing.T) {
	t.Parallel()
	nine := map[string]bool{}
	for _, k := range []string{
		"unknown", "leaf_user", "leaf_system", "op_create", "op_session_loop",
		"op_fork", "op_detach", "op_merge", "op_session_compress",
	} {
		nine[k] = true
	}
	for _, k := range []lineage.Kind{
		lineage.Unknown, lineage.Create, lineage.Fork, lineage.Branch, lineage.Merge, lineage.Compress,
		lineage.Resume, lineage.Subagent, lineage.Detach, lineage.Loop, lineage.Convert,
	} {
		w := k.Word()
		if !nine[w.Kind] || w.Operator == "" {
			t.Errorf("%s is %+v, which OpenRath does not have", k, w)
		}
		if back := lineage.KindOf(w); back != k {
			t.Errorf("%s is %+v, and that is %s", k, w, back)
		}
		if p, ok := lineage.ParseKind(string(k)); p != k || !ok {
			t.Errorf("%s is read as %s, %v", k, p, ok)
		}
	}
	if w := lineage.Kind("a word of tomorrow").Word(); w != lineage.Unknown.Word() {
		t.Errorf("a kind that is none is %+v", w)
	}
}

// RATH-08
func TestKindOfOpenRathWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operator, kind string
		want           lineage.Kind
	}{
		{"implicit", "unknown", lineage.Unknown},
		{"Session.create", "leaf_user", lineage.Create},
		{"create_system_session", "leaf_system", lineage.Create},
		{"", "op_create", lineage.Create},
		{"Session.fork", "op_fork", lineage.Fork},
		{"Session.detach", "op_detach", lineage.Detach},
		{"Session.merge", "op_merge", lineage.Merge},
		{"run_session_loop", "op_session_loop", lineage.Loop},
		{"run_session_compress", "op_session_compress", lineage.Compress},
		{"something of a program's own", "op_fork", lineage.Fork},
		{"Session.fork", "op_of_tomorrow", lineage.Unknown},
	} {
		if got := lineage.KindOf(lineage.Word{Operator: c.operator, Kind: c.kind}); got != c.want {
			t.Errorf("%s, %s is %s, want %s", c.operator, c.kind, got, c.want)
		}
		if got, ok := lineage.ParseKind(c.kind); got != c.want && c.operator != "Session.fork" {
			t.Errorf("%s alone is %s, %v", c.kind, got, ok)
		}
	}
}
