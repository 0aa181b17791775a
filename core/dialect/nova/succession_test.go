package nova_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/nova"
)

// NOVA-01
func TestSuccessionComparesFileWithSession(t *testing.T) {
	t.Parallel()
	decision := `{"decision":"%s","rationale":"","timestamp":"2026-01-02T03:04:05.000001"}`
	base := `{"session_id":"session-1","created_at":"2026-01-02T03:04:05.000001","last_updated":"2026-01-02T03:04:05.000001","key_decisions":[` +
		fmt.Sprintf(decision, "one") + "," + fmt.Sprintf(decision, "two") +
		`],"latest_artifacts":{"a":"/a"},"tokens_used":5,"turn_count":3,"metrics":{"task_count":3,"decision_count":2,"total_tokens":5},"fork_count":0,"pruned":false}` + "\n"
	have := fileOf(t, base)
	for name, c := range map[string]struct {
		old, new string
		want     core.Succession
	}{
		"unchanged":           {"", "", core.Earlier},
		"a turn":              {`"turn_count":3`, `"turn_count":4`, core.Later},
		"fewer turns":         {`"turn_count":3`, `"turn_count":2`, core.Diverged},
		"fewer tokens":        {`"tokens_used":5`, `"tokens_used":4`, core.Diverged},
		"fewer tasks":         {`"task_count":3`, `"task_count":2`, core.Diverged},
		"a plan":              {`"pruned"`, `"current_plan":"p","pruned"`, core.Later},
		"an artifact":         {`{"a":"/a"}`, `{"a":"/b","b":"/b"}`, core.Later},
		"a lost artifact":     {`{"a":"/a"}`, `{"b":"/b"}`, core.Diverged},
		"a decision":          {`],"latest`, "," + fmt.Sprintf(decision, "three") + `],"latest`, core.Later},
		"another decision":    {`"two"`, `"other"`, core.Diverged},
		"a lost decision":     {fmt.Sprintf(decision, "one") + ",", "", core.Diverged},
		"pruned":              {fmt.Sprintf(decision, "one") + "," + fmt.Sprintf(decision, "two") + `],"latest_artifacts":{"a":"/a"},"tokens_used":5,"turn_count":3,"metrics":{"task_count":3,"decision_count":2,"total_tokens":5},"fork_count":0,"pruned":false`, `],"tokens_used":5,"turn_count":3,"metrics":{"task_count":3,"decision_count":0,"total_tokens":5},"pruned":true`, core.Later},
		"an earlier base":     {`"last_updated":"2026-01-02T03:04:05.000001"`, `"last_updated":"2026-01-02T03:04:05.000000"`, core.Diverged},
		"another fork parent": {`"pruned"`, `"fork_parent_id":"session-0","pruned"`, core.Diverged},
	} {
		file := fileOf(t, strings.Replace(base, c.old, c.new, 1))
		if got := (nova.Dialect{}).Succession(have.Header, have.Entries, file.Entries); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func fileOf(t *testing.T, text string) *core.File {
	t.Helper()
	f, err := nova.Dialect{}.File([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
