package interop_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// PI-01, PI-15, PI-16, PI-27, PI-29, PI-33, PI-34, PI-35, PI-36, PI-38, PI-40,
// FLEET-14, FLEET-34
//
// The agent's own code reads the exports of a node and finds the same as the node, at
// every entry. What the agent adds is imported, and exported again byte-identical.
func TestAgentsReadAndWriteSessions(t *testing.T) {
	t.Parallel()
	eachPi(t, func(t *testing.T, a *agent) {
		first, n := uint64(rand.Uint32()), *sessions
		if *seed != 0 {
			first, n = *seed, 1
		}
		t.Logf("%s judges the sessions of %d seeds from %d on", a, n, first)
		c := newCourt(t, a)
		at := first
		defer func() {
			if t.Failed() {
				t.Logf("this session alone: go test ./test/interop -run '%s' -seed %d", t.Name(), at)
			}
		}()
		for ; at-first < n && !t.Failed(); at++ {
			c.try(t, at)
		}
		t.Logf("%s judged %d sessions of %d entries, of which it wrote %d, in %d contexts", a, n, c.entries, c.written, c.contexts)
	})
}

// A court is a judge and the node that it judges.
type court struct {
	*judge
	node *client.Client
	dir  string

	entries, written, contexts int // that the judge has read
}

func newCourt(t *testing.T, a *agent) *court {
	t.Helper()
	return &court{judge: newJudge(t, a), node: harness.StartNode(t).Client(), dir: t.TempDir()}
}

// try passes a session through the log, the agent, and the log again.
func (c *court) try(t *testing.T, seed uint64) {
	t.Helper()
	s := generate(seed, c.agent)
	rng := rand.New(rand.NewPCG(seed, 1))
	id := c.imports(t, s.file, -1)
	c.append(t, id, rng)
	before := c.exports(t, id)
	path := filepath.Join(c.dir, "session.jsonl")
	testkit.WriteFile(t, path, before)
	c.agree(t, id, path, before, rng)

	c.judge.append(t, path, s.todo)
	grown := testkit.ReadFile(t, path)
	if !bytes.HasPrefix(grown, before) {
		t.Fatalf("the agent changed existing lines:\n%s", differ(grown, before))
	}
	readableByLine(t, grown)
	added := bytes.Count(grown[len(before):], []byte("\n"))
	c.imports(t, grown, added)
	c.agree(t, id, path, grown, rng)
	if r, err := c.node.Verify(t.Context(), id); err != nil || len(r.Problems) > 0 {
		t.Errorf("verify: %+v, %v", r.Problems, err)
	}
	switch rng.IntN(3) {
	case 0:
		c.continueAt(t, id, path, rng)
	case 1:
		c.branchOff(t, path, rng)
	}
	c.written += added
	c.entries += bytes.Count(grown, []byte("\n")) - 1
}

// readableByLine checks that a program that reads the file by line, as pi's
// documentation shows it, finds an object with a type on each.
func readableByLine(t *testing.T, file []byte) {
	t.Helper()
	if !bytes.HasSuffix(file, []byte("\n")) {
		t.Fatal("the file's last line has no newline")
	}
	for line := range bytes.Lines(file) {
		var e struct{ Type string }
		if err := json.Unmarshal(line, &e); err != nil || e.Type == "" {
			t.Fatalf("a line without a type: %v\n%.500s", err, line)
		}
	}
}

// continueAt moves the session's head to a random entry and makes the agent continue there.
func (c *court) continueAt(t *testing.T, id, path string, rng *rand.Rand) {
	t.Helper()
	target := c.somewhere(t, id, rng)
	if _, err := c.node.Move(t.Context(), id, core.MainHead, api.MoveRequest{Leaf: core.LeafAt(target)}, ""); err != nil {
		t.Fatal(err)
	}
	body, _, err := c.node.File(t.Context(), id, "")
	testkit.WriteFile(t, path, whole(t, body, err))
	agent := c.read(t, path)
	if agent.Leaf == nil || *agent.Leaf != target || agent.Context != digest(c.atNode(t, id, client.View{})) {
		t.Fatalf("the head is at %q, the agent continues at %v: %s", target, agent.Leaf,
			differ(c.atNode(t, id, client.View{}), c.context(t, path, "")))
	}
	c.judge.append(t, path, []step{step(`{"step":"message","message":{"role":"user","content":"here","timestamp":1}}`)})
	file := testkit.ReadFile(t, path)
	done, err := c.node.Import(t.Context(), bytes.NewReader(file), int64(len(file)), client.ImportOptions{Dialect: c.agent.dialect})
	if err != nil || done.Entries != 1 {
		t.Fatalf("import of the agent's lines at %q: %+v, %v", target, done, err)
	}
	agent = c.read(t, path)
	if agent.Context != digest(c.atNode(t, id, client.View{})) {
		t.Fatalf("after the agent continued at %q: %s", target, differ(c.atNode(t, id, client.View{}), c.context(t, path, "")))
	}
	if a, b := sortedLines(file), sortedLines(c.exports(t, id)); !slices.Equal(a, b) {
		t.Fatalf("lines were lost or added: %s", cmp.Diff(a, b))
	}
}

// branchOff makes the agent write a session of one path, which must be a valid session
// to us as well.
func (c *court) branchOff(t *testing.T, path string, rng *rand.Rand) {
	t.Helper()
	ids := c.read(t, path).IDs
	fork := c.fork(t, path, ids[rng.IntN(len(ids))])
	file, err := os.ReadFile(fork)
	if errors.Is(err, fs.ErrNotExist) {
		return // the agent keeps nothing of it
	}
	if err != nil {
		t.Fatal(err)
	}
	c.agree(t, c.imports(t, file, -1), fork, file, rng)
}

// imports imports a file and checks that the export is byte-identical. If added is not
// negative, it must be the number of new lines.
func (c *court) imports(t *testing.T, file []byte, added int) string {
	t.Helper()
	done, err := c.node.Import(t.Context(), bytes.NewReader(file), int64(len(file)), client.ImportOptions{Dialect: c.agent.dialect})
	if err != nil {
		t.Fatalf("import: %v\n%s", err, file)
	}
	if len(done.Skipped) > 0 {
		t.Fatalf("import skipped %+v", done.Skipped)
	}
	if added >= 0 && (done.Created || done.Entries != added) {
		t.Fatalf("import of a file with %d new lines: %+v", added, done)
	}
	id := string(done.Session)
	if out := c.exports(t, id); !bytes.Equal(out, file) {
		t.Fatalf("the export differs from the file:\n%s", differ(out, file))
	}
	return id
}

// append adds to the session through the API.
func (c *court) append(t *testing.T, id string, rng *rand.Rand) {
	t.Helper()
	info, err := c.node.Info(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rng.IntN(4) {
		key := client.AppendOptions{Key: fmt.Sprint(info.SessionID, i)}
		switch rng.IntN(4) {
		case 0:
			_, err = c.node.Label(t.Context(), id, api.LabelRequest{Target: c.somewhere(t, id, rng), Label: []string{"", "by API 🙂"}[rng.IntN(2)]}, key)
		case 1:
			_, err = c.node.Name(t.Context(), id, api.NameRequest{Name: []string{"", " named \u2028 "}[rng.IntN(2)]}, key)
		case 2:
			if _, err = c.node.Move(t.Context(), id, core.MainHead, api.MoveRequest{Leaf: core.LeafAt(c.somewhere(t, id, rng))}, ""); err != nil {
				break
			}
			fallthrough // the end of a file does not show a head that only moved
		default:
			_, err = c.node.Append(t.Context(), id, []byte(harness.Message("user", "by API")), key)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// exports returns the session as its agent's file.
func (c *court) exports(t *testing.T, id string) []byte {
	t.Helper()
	body, err := c.node.Export(t.Context(), id, false)
	return whole(t, body, err)
}

// somewhere returns the ID of a random entry.
func (c *court) somewhere(t *testing.T, id string, rng *rand.Rand) string {
	t.Helper()
	tree, err := c.node.Tree(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return tree[rng.IntN(len(tree))].ID
}

// whole reads a body to its end.
func whole(t *testing.T, body io.ReadCloser, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sortedLines(file []byte) []string {
	return slices.Sorted(strings.Lines(string(file)))
}

// agree compares the agent's report of the file at path, which has the content file,
// with the node's report of the session and with core's reading of the file.
func (c *court) agree(t *testing.T, id, path string, file []byte, rng *rand.Rand) {
	t.Helper()
	agent := c.read(t, path)
	if after := testkit.ReadFile(t, path); !bytes.Equal(after, file) {
		t.Fatalf("the agent changed the file while reading it:\n%s", differ(after, file))
	}
	info, err := c.node.InfoBy(t.Context(), id, c.agent.profile)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := c.node.TreeBy(t.Context(), id, c.agent.profile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := dialect.NamedProfile(c.agent.profile)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Dialect
	f, err := d.File(file)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, e := range f.Entries {
		if isEntry(c.agent, e) {
			ids = append(ids, e.ID)
		}
	}
	ours := reading{
		Session: info.SessionID, CWD: info.CWD, Leaf: info.LeafID, Name: info.Name, IDs: ids, Tree: tree,
		Context: digest(c.atNode(t, id, client.View{})), Contexts: map[string]string{},
	}
	for _, leaf := range ids {
		b, err := d.Context(f.Entries, core.LeafAt(leaf))
		if err != nil {
			t.Fatalf("context at %q: %v", leaf, err)
		}
		ours.Contexts[leaf] = digest(b)
		c.contexts++
	}
	c.same(t, path, ours, agent, func(leaf string) []byte {
		b, err := d.Context(f.Entries, core.LeafAt(leaf))
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
	leaf := ids[rng.IntN(len(ids))]
	if got := digest(c.atNode(t, id, client.View{Leaf: leaf})); got != agent.Contexts[leaf] {
		t.Errorf("the node's context at %q differs from the agent's", leaf)
	}
}

// isEntry reports whether an agent takes a line for an entry. omp takes a second
// header for one, but not a title before the header.
func isEntry(a *agent, e core.Entry) bool {
	if a.dialect == "omp" {
		return e.Type != "title"
	}
	return e.Type != "session"
}

// same compares two readings of the file at path.
func (c *court) same(t *testing.T, path string, ours, agents reading, context func(leaf string) []byte) {
	t.Helper()
	for _, leaf := range slices.Compact(slices.Clone(ours.IDs)) {
		if ours.Contexts[leaf] != agents.Contexts[leaf] {
			t.Fatalf("contexts at %q:\n%s", leaf, differ(context(leaf), c.context(t, path, leaf)))
		}
	}
	if diff := cmp.Diff(agents, ours); diff != "" {
		t.Fatalf("the agent (-) and we (+) read different sessions:\n%s", diff)
	}
}

// atNode returns a context as the node builds it.
func (c *court) atNode(t *testing.T, id string, v client.View) json.RawMessage {
	t.Helper()
	v.Profile = c.agent.profile
	b, err := c.node.Context(t.Context(), id, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// differ reports where two texts differ.
func differ(ours, theirs []byte) string {
	at := 0
	for at < min(len(ours), len(theirs)) && ours[at] == theirs[at] {
		at++
	}
	from := max(0, at-200)
	return fmt.Sprintf("%d bytes and %d part at byte %d:\nours   %.600q\ntheirs %.600q", len(ours), len(theirs), at, ours[from:], theirs[from:])
}
