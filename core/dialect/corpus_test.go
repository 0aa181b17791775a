package dialect_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// said is what an agent said of a file.
type said struct {
	Info    map[string]any `json:"info"`
	Tree    any            `json:"tree"`
	Context map[string]any `json:"context"`
}

// profiles are the agents that were asked, and whose rules are to say the same.
var profiles = map[string]string{"pi-1.5.2": "pi", "pi-0.73.1": "pi@0.73", "omp-18.3.4": "omp"}

// defects are where an agent fails in a way that is not owed: its answer there
// is an error, or that of a session it put in place of the file.
var defects = map[string]string{
	"pi-1.5.2 p07-bom":                "refuses a byte order mark",
	"pi-1.5.2 p11-empty-file":         "writes a session into an empty file",
	"pi-1.5.2 t08-self-parent":        "does not end",
	"pi-1.5.2 c13-message-missing":    "crashes",
	"pi-1.5.2 m11-v2-message-null":    "crashes",
	"pi-0.73.1 p11-empty-file":        "writes a session into an empty file",
	"pi-0.73.1 p13-garbage-only":      "overwrites the file",
	"pi-0.73.1 p15-header-id-number":  "overwrites the file",
	"pi-0.73.1 p27-title-slot-no-pad": "overwrites the file",
	"pi-0.73.1 t08-self-parent":       "does not end",
	"pi-0.73.1 c13-message-missing":   "crashes",
	"pi-0.73.1 m11-v2-message-null":   "crashes",
	"omp-18.3.4 p11-empty-file":       "writes a session into an empty file",
	"omp-18.3.4 c13-message-missing":  "crashes",
	"omp-18.3.4 m11-v2-message-null":  "crashes",
}

// Every profile says of every hostile or damaged file what its agent said.
func TestCorpusEdgeByEveryProfile(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SESS_CORPUS")
	if dir == "" {
		t.Skip("SESS_CORPUS does not name the corpus of real session files")
	}
	b, err := os.ReadFile(filepath.Join(dir, "edge", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results map[string]map[string]said
	if err := json.Unmarshal(b, &results); err != nil {
		t.Fatal(err)
	}
	for name, agents := range results {
		data, err := os.ReadFile(filepath.Join(dir, "edge", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for agent, profile := range profiles {
			t.Run(agent+" "+name, func(t *testing.T) {
				t.Parallel()
				p, err := dialect.NamedProfile(profile)
				if err != nil {
					t.Fatal(err)
				}
				compareEdge(t, p, data, agents[agent], defects[agent+" "+name])
			})
		}
	}
}

// compareEdge compares what p makes of a file with what its agent said. Where
// that is a defect, the agent's answer must be one.
func compareEdge(t *testing.T, p dialect.Profile, data []byte, want said, defect string) {
	t.Helper()
	s, version, err := seen(p, data)
	switch refused := want.Info["error"] != nil; {
	case err != nil && defect != "":
		if refused {
			t.Errorf("the agent refuses it too, that is no defect (%s)", defect)
		}
		t.Log(defect, err)
		return
	case err != nil:
		if !refused {
			t.Fatalf("the agent reads it: %v", err)
		}
		t.Log(err)
		return
	case refused:
		if defect == "" {
			t.Fatalf("the agent refuses it: %v", want.Info["error"])
		}
		return
	}
	if version != "3" {
		rename(t, &want, s.Entries)
	}
	compareInfo(t, s, want.Info)
	compareTree(t, s, want.Tree)
	if failed := want.Context["error"]; failed != nil {
		if defect == "" {
			t.Errorf("the agent fails with %v: is that a defect?", failed)
		}
		return
	}
	if defect != "" {
		t.Errorf("the agent answers: where is the defect (%s)?", defect)
	}
	raw, err := s.Dialect.Context(s.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "context", parsed(t, raw), withRefs(want.Context))
}

// seen is the file as p reads it, and its format version.
func seen(p dialect.Profile, data []byte) (dialect.Session, string, error) {
	own, err := dialect.Detect(data)
	if err != nil {
		return dialect.Session{}, "", err
	}
	f, d, err := p.File(own, data)
	if err != nil {
		return dialect.Session{}, "", err
	}
	s, err := p.View(dialect.Session{Dialect: d, Header: f.Header, Entries: f.Entries, Leaf: d.Leaf(f.Entries)})
	return s, f.Version, err
}

func compareInfo(t *testing.T, s dialect.Session, want map[string]any) {
	t.Helper()
	info, err := s.Dialect.Info(s.Header, s.Entries, s.Leaf)
	if err != nil {
		t.Fatal(err)
	}
	info.Own = nil
	b, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	got := parsed(t, b).(map[string]any)
	if _, ok := want["cwd"]; !ok { // omp's is where it runs
		delete(got, "cwd")
	}
	for _, name := range []string{"header", "version", "sessionId", "entryCount", "types", "leafId", "name", "labels"} {
		if _, ok := want[name]; !ok && want["leafId"] != nil {
			t.Errorf("the agent's info has no %s", name)
		}
	}
	for name := range got {
		compare(t, name, got[name], want[name])
	}
}

func compareTree(t *testing.T, s dialect.Session, want any) {
	t.Helper()
	tree := []any{}
	for _, n := range s.Dialect.Tree(s.Entries) {
		b, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		row := parsed(t, b).(map[string]any)
		if n.ID == "" {
			delete(row, "id")
		}
		tree = append(tree, row)
	}
	compare(t, "tree", tree, want)
}

// rename makes ours the random ids in what an agent said of a file that it
// migrated. The tree of such a file is a line.
func rename(t *testing.T, s *said, es []core.Entry) {
	t.Helper()
	rows := s.Tree.([]any)
	pairs := []string{fmt.Sprintf("%q", s.Info["leafId"]), fmt.Sprintf("%q", es[len(es)-1].ID)}
	for i, row := range rows {
		pairs = append(pairs, fmt.Sprintf("%q", row.(map[string]any)["id"]), fmt.Sprintf("%q", es[i].ID))
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	*s = said{}
	if err := json.Unmarshal([]byte(strings.NewReplacer(pairs...).Replace(string(b))), s); err != nil {
		t.Fatal(err)
	}
}

// withRefs is v with the images that omp fetched from its own store as the
// references that files have.
func withRefs(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withRefs(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withRefs(v[name])
		}
		data, _ := v["data"].(string)
		if raw, err := base64.StdEncoding.DecodeString(data); err == nil && v["type"] == "image" && len(data) >= 1024 {
			v["data"] = fmt.Sprintf("blob:sha256:%x", sha256.Sum256(raw))
		}
	}
	return v
}

func parsed(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func compare(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-agent +ours):\n%.3000s", what, d)
	}
}
