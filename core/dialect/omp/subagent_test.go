package omp_test

import (
	"testing"

	"github.com/sesslog/sesslog/core/dialect/omp"
)

// FLEET-20
func TestSubagentOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/s/--w--/2026-01-02T03-04-05-678Z_some-id/Helper.jsonl": "some-id",
		`C:\s\2026-01-02T03-04-05-678Z_some_id\1-Helper.jsonl`:   "some_id",
		"2026-01-02T03-04-05-678Z_some-id/Helper.jsonl":          "some-id",
		"/s/--w--/2026-01-02T03-04-05-678Z_some-id.jsonl":        "",
		"/s/2026-01-02T03-04-05-678Z_some-id/1.bash.log":         "",
		"/s/2026-01-02T03-04-05-678Z_/Helper.jsonl":              "",
		"Helper.jsonl": "",
		"":             "",
		"/s/my_sessions/2026-01-02T03-04-05-678Z_some-id-here.jsonl": "",
	} {
		if got, ok := omp.SubagentOf(path); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", path, got, ok, want)
		}
	}
}
