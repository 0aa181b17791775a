package openrath_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
)

const (
	idA = "00000000-0000-4000-8000-00000000000a"
	idB = "00000000-0000-4000-8000-00000000000b"
	idC = "00000000-0000-4000-8000-00000000000c"

	header  = `{"record_type": "header", "schema_version": 1, "id": "` + idA + `", "created_at": "2026-01-02T03:04:05.678901+00:00", "parent_session_ids": [], "lineage_operator": "implicit", "lineage_kind": "unknown", "lineage_extras": [], "sandbox_backend": null, "sandbox_spec": null, "sandbox_handle_id": null}`
	system  = `{"record_type": "chunk", "index": 0, "kind": "system", "payload": {"content": "be kind"}}`
	user    = `{"record_type": "chunk", "index": 1, "kind": "user", "payload": {"content": "go \u00e9"}}`
	calls   = `{"record_type": "chunk", "index": 2, "kind": "assistant", "payload": {"content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "noop", "arguments": "{\"a\": 1}"}}]}}`
	result  = `{"record_type": "chunk", "index": 3, "kind": "tool_result", "payload": {"tool_call_id": "c1", "name": "noop", "content": "{\"ok\": true}"}}`
	done    = `{"record_type": "chunk", "index": 4, "kind": "assistant", "payload": {"content": "done", "tool_calls": null}}`
	trailer = `{"record_type": "trailer", "closed_at": "2026-01-02T03:04:06+00:00", "final_chunk_count": 5, "cumulative_usage": {"prompt_tokens": 14, "completion_tokens": 7, "total_tokens": 21}}`
)

// text is the lines as a file.
func text(lines ...string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// whole is a session of every kind of chunk that was closed.
func whole() []byte { return text(header, system, user, calls, result, done, trailer) }

func read(t *testing.T, data []byte) *core.File {
	t.Helper()
	f, err := openrath.Dialect{}.File(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func load(t *testing.T, data []byte) openrath.Loaded {
	t.Helper()
	l, err := openrath.Dialect{}.Load("f.jsonl", data)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func parsed(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

// rows are the chunks of a table as lines.
func rows(table openrath.Table) []string {
	var lines []string
	for i, c := range table.All() {
		lines = append(lines, string(c.Line(i)))
	}
	return lines
}
