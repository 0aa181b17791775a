package dialecttest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/image"
)

// Corpus returns the folder of real session files that SESS_CORPUS names, and
// skips the test if it names none.
func Corpus(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("SESS_CORPUS")
	if dir == "" {
		t.Skip("SESS_CORPUS does not name the corpus of real session files")
	}
	return dir
}

// Said is what an agent said of a file.
type Said struct {
	Info          map[string]any            `json:"info"`
	Tree          any                       `json:"tree"`
	Contexts      map[string]map[string]any `json:"contexts"`
	Context       map[string]any            `json:"context"`
	OpenedText    string                    `json:"opened_text"`
	RewrittenText string                    `json:"rewritten_text"`
}

// Rename replaces the agent's random ids in what it said of a migrated file by
// those of f. They are not those of the text that the agent wrote, because it
// was asked several times. The tree of such a file is one path and has all ids.
func (s *Said) Rename(t testing.TB, es []core.Entry) {
	t.Helper()
	last := es[len(es)-1].ID
	pairs := []string{fmt.Sprintf("%q", s.Info["leafId"]), fmt.Sprintf("%q", last)}
	for i, row := range s.Tree.([]any) {
		pairs = append(pairs, fmt.Sprintf("%q", row.(map[string]any)["id"]), fmt.Sprintf("%q", es[i].ID))
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	*s = Said{}
	if err := json.Unmarshal([]byte(strings.NewReplacer(pairs...).Replace(string(b))), s); err != nil {
		t.Fatal(err)
	}
}

// Renaming replaces the ids of from by those of to, position by position.
func Renaming(from, to []core.Entry) *strings.Replacer {
	var pairs []string
	for i := range min(len(from), len(to)) {
		if from[i].ID != to[i].ID {
			pairs = append(pairs, `"`+from[i].ID+`"`, `"`+to[i].ID+`"`)
		}
	}
	return strings.NewReplacer(pairs...)
}

// ReadFile reads the file called name by the rules of d.
func ReadFile(t testing.TB, d core.Decoder, name string) (*core.File, []byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.File(data)
	if err != nil {
		t.Fatal(err)
	}
	return f, data
}

// ReadJSON decodes the file called name into to.
func ReadJSON(t testing.TB, name string, to any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Parsed decodes JSON.
func Parsed(t testing.TB, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// ViaJSON is v encoded and decoded again.
func ViaJSON(t testing.TB, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := Parsed(t, b).(map[string]any)
	return m
}

// Tree returns the rows of d's tree as the agents were asked to say them:
// without an id if it is empty.
func Tree(t testing.TB, d core.Tree, es []core.Entry) []any {
	t.Helper()
	rows := []any{}
	for _, n := range d.Tree(es) {
		row := ViaJSON(t, n)
		if n.ID == "" {
			delete(row, "id")
		}
		rows = append(rows, row)
	}
	return rows
}

// ContextAt returns d's context of f at an entry. At "__default" that is the
// default leaf, and at "null" no leaf.
func ContextAt(t testing.TB, d core.View, f *core.File, at string) map[string]any {
	t.Helper()
	leaf := core.LeafAt(at)
	switch at {
	case "__default":
		leaf = core.Leaf{}
	case "null":
		leaf = core.NoLeaf
	}
	raw, err := d.Context(f.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	return ViaJSON(t, json.RawMessage(raw))
}

// WithRefs replaces every image of v that omp keeps in its own store by the
// reference that omp's files have.
func WithRefs(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = WithRefs(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = WithRefs(v[name])
		}
		data, _ := v["data"].(string)
		if raw, err := base64.StdEncoding.DecodeString(data); err == nil && v["type"] == "image" && len(data) >= image.MinBlob {
			v["data"] = fmt.Sprintf("blob:sha256:%x", sha256.Sum256(raw))
		}
	}
	return v
}

// Compare fails the test if we say something else than the agent.
func Compare(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-agent +ours):\n%.4000s", what, d)
	}
}
