package dialect_test

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/optional"
)

const (
	piHead       = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/"}`
	ompHead      = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/","titleSource":"user"}`
	operatorHead = `{"type":"session","version":3,"id":"s","timestamp":1.5,"cwd":"/"}`
	rathHead     = `{"record_type": "header", "schema_version": 1, "id": "01234567-89ab-4cde-8f01-23456789abcd", "created_at": "2026-01-02T03:04:05+00:00"}`
	ended        = "{\"type\":\"message\",\"id\":\"b\",\"parent_id\":\"a\",\"timestamp\":1,\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\u2028y\"}]}}"
)

// said returns a message of pi, or of Operator if key, the name of the parent, is
// "parent_id".
func said(id, key, parent string) string {
	parent = strings.ReplaceAll(`"`+parent+`"`, `""`, "null")
	when := `"2026-01-02T03:04:05.000Z"`
	if key == "parent_id" {
		when = "1"
	}
	return `{"type":"message","id":"` + id + `","` + key + `":` + parent + `,"timestamp":` + when + `,"message":{"role":"user","content":[{"type":"text","text":"hi"}]}}`
}

func chunk(index, text string) string {
	return `{"record_type": "chunk", "index": ` + index + `, "kind": "user", "payload": {"content": "` + text + `"}}`
}

// Messages that a compaction replaced are not sent, settings are not messages, and files
// and lines that the agent does not read count as lost.
func TestExamineCountsWhatTheAgentSends(t *testing.T) {
	t.Parallel()
	const compacted = `{"type":"compaction","id":"c","parentId":"b","timestamp":"2026-01-02T03:04:05.000Z","summary":"s","tokensBefore":1,"firstKeptEntryId":"KEPT"}`
	three := []string{said("a", "parentId", ""), said("b", "parentId", "a"), compacted, said("d", "parentId", "c")}
	keeps := func(id string) []string {
		return strings.Split(strings.ReplaceAll(strings.Join(three, "\n"), "KEPT", id), "\n")
	}
	cases := []struct {
		name, dialect             string
		lines                     []string
		messages, sent, summarize int
		fault                     optional.FaultKind
		after                     int // sent of the copy; -1 without one
	}{
		{"kept", "pi", append([]string{piHead}, keeps("b")...), 3, 2, 1, "", -1},
		{"kept nothing", "omp", append([]string{ompHead}, keeps("c")...), 3, 1, 2, "", -1},
		{"kept a line that is gone", "pi", append([]string{piHead}, keeps("gone")...), 3, 1, 2, optional.LostSegment, -1},
		{"settings", "pi", []string{piHead, said("a", "parentId", ""), `{"type":"model_change","id":"m","parentId":"a","timestamp":"2026-01-02T03:04:05.000Z","provider":"p","modelId":"m"}`}, 1, 1, 0, "", -1},
		{"garbage beside", "pi", []string{piHead, said("a", "parentId", ""), "garbage", said("b", "parentId", "a"), said("c", "parentId", "a")}, 3, 2, 0, optional.BadLine, -1},
		{"byte order mark", "pi", []string{"\ufeff" + piHead, said("a", "parentId", "")}, 1, 0, 0, optional.Refused, 1},
		{"byte order mark", "omp", []string{"\ufeff" + ompHead, said("a", "parentId", "")}, 1, 1, 0, "", -1},
		{"null", "omp", []string{ompHead, said("a", "parentId", ""), "null"}, 1, 0, 0, optional.Refused, 1},
		{"no message", "pi", []string{piHead, said("a", "parentId", ""), `{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:05.000Z"}`}, 1, 0, 0, optional.Refused, -1},
		{"line separator", "operator", []string{operatorHead, said("a", "parent_id", ""), ended, said("c", "parent_id", "b")}, 3, 1, 0, optional.EndsInside, 3},
		{"line separator", "openrath", []string{rathHead, chunk("0", "hi"), chunk("1", "x\u2028y")}, 2, 0, 0, optional.Refused, 2},
		{"repeated line", "operator", []string{operatorHead, said("a", "parent_id", ""), said("a", "parent_id", ""), said("b", "parent_id", "a")}, 2, 2, 0, "", -1},
		{"leaf that is gone", "operator", []string{operatorHead, said("a", "parent_id", ""), `{"type":"leaf","id":"b","parent_id":"a","timestamp":1,"target_id":"gone"}`}, 1, 0, 0, optional.MissingLeaf, -1},
		{"bad line", "openrath", []string{rathHead, chunk("0", "hi"), "garbage"}, 1, 0, 0, optional.Refused, 1},
		{"repeated line", "openrath", []string{rathHead, chunk("0", "hi"), chunk("0", "hi"), chunk("1", "x")}, 3, 3, 0, "", -1},
		{"whole", "openrath", []string{rathHead, chunk("0", "hi"), chunk("1", "x")}, 2, 2, 0, "", -1},
	}
	for _, c := range cases {
		t.Run(c.dialect+" "+c.name, func(t *testing.T) {
			t.Parallel()
			d, data := dialect.All()[c.dialect], []byte(strings.Join(c.lines, "\n")+"\n")
			x, err := optional.Examine(d, "s.jsonl", map[string][]byte{"s.jsonl": data}, false)
			if err != nil || x.Messages != c.messages || x.Sent != c.sent || x.Summarized != c.summarize {
				t.Fatalf("%v: %+v", err, x)
			}
			found := c.fault == ""
			for _, f := range x.Faults {
				found = found || f.Kind == c.fault
			}
			if !found || len(x.Faults) > 0 && c.fault == "" {
				t.Errorf("%+v", x.Faults)
			}
			if (x.Copy == nil) != (c.after < 0) {
				t.Fatalf("copy: %s", x.Copy)
			}
			if x.Copy == nil {
				return
			}
			y, err := optional.Examine(d, "s.jsonl", map[string][]byte{"s.jsonl": x.Copy}, false)
			if err != nil || y.Sent != c.after || len(y.Faults) > 0 {
				t.Errorf("%v: %+v of\n%s", err, y, x.Copy)
			}
		})
	}
}

// A log that has a line refuses it in other bytes.
func TestCopyKeepsLinesThatTheAgentReads(t *testing.T) {
	t.Parallel()
	read := strings.Replace(said("a", "parentId", ""), "hi", "x\u2028y", 1)
	for dialectName, head := range map[string]string{"pi": piHead, "omp": ompHead} {
		data := strings.Join([]string{head, read, said("b", "parentId", "a") + said("c", "parentId", "b"), ""}, "\n")
		x, err := optional.Examine(dialect.All()[dialectName], "s.jsonl", map[string][]byte{"s.jsonl": []byte(data)}, false)
		if err != nil || !strings.Contains(string(x.Copy), "\n"+read+"\n"+said("b", "parentId", "a")+"\n") {
			t.Errorf("%s: %v, copy:\n%s", dialectName, err, x.Copy)
		}
	}
}
