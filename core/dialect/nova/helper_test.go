package nova_test

import (
	"strconv"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/nova"
)

const (
	id      = "5b1f0a52-1d1b-4a3e-9c57-0d5f7f1f2a10"
	created = "2026-03-01T09:00:00.000000"
	later   = "2026-03-01T10:00:00.000Z"
)

// plain is a file as a JSON library writes it by default.
const plain = `{"session_id": "` + id + `", "created_at": "` + created + `", "last_updated": "2026-03-01T09:30:00.250000", "model": "m-1", "agent_name": "impl", "current_plan": "Build it", "key_decisions": [{"decision": "Use a queue", "rationale": "Load", "timestamp": "2026-03-01T09:10:00.000001"}], "latest_artifacts": {"b": "/b", "a": "/a"}, "tokens_used": 1200, "turn_count": 3, "tags": ["pr", "feature"], "metrics": {"task_count": 3, "decision_count": 1, "total_tokens": 1200, "cost": 1.5}, "fork_count": 0, "pruned": false, "mood": "good"}`

func header(t *testing.T) core.Header {
	t.Helper()
	h, err := nova.Dialect{}.Header(nova.Dialect{}.NewHeader(core.HeaderFields{ID: id, Time: "2026-03-01T09:00:00.000Z"}))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// entries makes entries of lines, as an append would.
func entries(t *testing.T, lines ...[]byte) []core.Entry {
	t.Helper()
	es := make([]core.Entry, len(lines))
	for i, line := range lines {
		e, err := nova.Dialect{}.Fill(line, core.Fields{ID: "e" + strconv.Itoa(i), Parent: core.NoLeaf, Time: later})
		if err != nil {
			t.Fatal(err)
		}
		es[i] = e
	}
	return es
}

func must(t *testing.T) func(line []byte, err error) []byte {
	t.Helper()
	return func(line []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
}

// after is the state of a session that began as from and went through lines.
func after(t *testing.T, from nova.State, lines ...[]byte) nova.State {
	t.Helper()
	first, err := nova.NewState(from)
	if err != nil {
		t.Fatal(err)
	}
	return nova.Fold(header(t), entries(t, append([][]byte{first}, lines...)...))
}

func fresh() nova.State {
	return nova.State{SessionID: id, CreatedAt: created, LastUpdated: created, Model: nova.DefaultModel}
}
