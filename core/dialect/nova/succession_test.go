package nova_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/optional"
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
		want     optional.Succession
	}{
		"unchanged":           {"", "", optional.Earlier},
		"a turn":              {`"turn_count":3`, `"turn_count":4`, optional.Later},
		"fewer turns":         {`"turn_count":3`, `"turn_count":2`, optional.Diverged},
		"fewer tokens":        {`"tokens_used":5`, `"tokens_used":4`, optional.Diverged},
		"fewer tasks":         {`"task_count":3`, `"task_count":2`, optional.Diverged},
		"a plan":              {`"pruned"`, `"current_plan":"p","pruned"`, optional.Later},
		"an artifact":         {`{"a":"/a"}`, `{"a":"/b","b":"/b"}`, optional.Later},
		"a lost artifact":     {`{"a":"/a"}`, `{"b":"/b"}`, optional.Diverged},
		"a decision":          {`],"latest`, "," + fmt.Sprintf(decision, "three") + `],"latest`, optional.Later},
		"another decision":    {`"two"`, `"other"`, optional.Diverged},
		"a lost decision":     {fmt.Sprintf(decision, "one") + ",", "", optional.Diverged},
		"pruned":              {fmt.Sprintf(decision, "one") + "," + fmt.Sprintf(decision, "two") + `],"latest_artifacts":{"a":"/a"},"tokens_used":5,"turn_count":3,"metrics":{"task_count":3,"decision_count":2,"total_tokens":5},"fork_count":0,"pruned":false`, `],"tokens_used":5,"turn_count":3,"metrics":{"task_count":3,"decision_count":0,"total_tokens":5},"pruned":true`, optional.Later},
		"an earlier base":     {`"last_updated":"2026-01-02T03:04:05.000001"`, `"last_updated":"2026-01-02T03:04:05.000000"`, optional.Diverged},
		"another fork parent": {`"pruned"`, `"fork_parent_id":"session-0","pruned"`, optional.Diverged},
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
