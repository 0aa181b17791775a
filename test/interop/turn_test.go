package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// FLEET-14, PI-35, PI-38
//
// A session that was made through the API is resumed on another host by the agent's
// own command: the agent finds its file, continues it, tool call included, and sends
// its model exactly the context that we report. Its lines are then in the log.
func TestAgentResumesOnAnotherHost(t *testing.T) {
	t.Parallel()
	eachAgent(t, func(t *testing.T, a *agent) {
		node := harness.StartNode(t)
		c := node.Client()
		host := harness.NewHost(t, node)
		id := aSession(t, c, a.dialect, host.Dir)
		predicted := contextTexts(t, c, id)

		dir := host.Path("agent")
		host.Env = append(host.Env, "PI_CODING_AGENT_DIR="+dir, "PI_OFFLINE=1")
		m := newModel(t, calls("echo the answer is $((6*7))"), says("It is done."))
		m.declare(t, a, dir)
		var resumed struct{ Path string }
		host.JSON(t, &resumed, "resume", id)
		before := testkit.ReadFile(t, resumed.Path)

		run(t, a, host, "-p", "What now?", "--model", "fake/fake-1", a.opens, resumed.Path)

		heard, refused := m.asked()
		if len(heard) != 2 || len(refused) > 0 {
			t.Fatalf("the model was asked %d times; refused: %q", len(heard), refused)
		}
		holdsInOrder(t, heard[0], slices.Concat(predicted, []string{"What now?"}))
		holdsInOrder(t, heard[1], slices.Concat(predicted, []string{"What now?", "the answer is 42"}))
		for _, gone := range []string{"left behind", "question one", "answer one"} {
			if strings.Contains(heard[0], gone) {
				t.Errorf("the request has %q, which is on another branch or was compacted:\n%s", gone, heard[0])
			}
		}

		after := testkit.ReadFile(t, resumed.Path)
		if !bytes.HasPrefix(after, before) {
			t.Fatalf("the agent changed existing lines:\n%s", differ(after, before))
		}
		host.Do(t, "import", resumed.Path)
		body, err := c.Export(t.Context(), id, false)
		if out := whole(t, body, err); !slices.Equal(sortedLines(out), sortedLines(after)) {
			t.Errorf("the log lacks lines of the agent: %s", differ(out, after))
		}
		now := contextTexts(t, c, id)
		result := "the answer is 42\n"
		if i := len(predicted) + 1; a.command == "omp" && i < len(now) && strings.HasPrefix(now[i], result) {
			result = now[i] // omp appends the duration
		}
		if want := slices.Concat(predicted, []string{"What now?", result, "It is done."}); !slices.Equal(now, want) {
			t.Errorf("the context in the log is\n%q, want\n%q", now, want)
		}
	})
}

// aSession makes a session with branches and a compaction through the API.
func aSession(t *testing.T, c *client.Client, dialect, cwd string) string {
	t.Helper()
	made, err := c.Create(t.Context(), api.Create{Dialect: dialect, CWD: cwd})
	if err != nil {
		t.Fatal(err)
	}
	id := string(made.ID)
	add := func(lines ...string) []string {
		t.Helper()
		done, err := c.Append(t.Context(), id, []byte(strings.Join(lines, "\n")), client.AppendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return done.IDs
	}
	ids := add(userSays("question one"), assistantSays("answer one"), userSays("question two"), assistantSays("answer two"))
	add(userSays("left behind"), assistantSays("left behind as well"))
	if _, err := c.Move(t.Context(), id, core.MainHead, api.MoveRequest{Leaf: core.LeafAt(ids[3])}, ""); err != nil {
		t.Fatal(err)
	}
	kept := add(userSays("question three"), assistantSays("answer three"))
	add(`{"type":"branch_summary","fromId":"root","summary":"somebody went another way"}`)
	add(`{"type":"compaction","summary":"two questions were asked","firstKeptEntryId":"`+kept[0]+`","tokensBefore":9}`,
		`{"type":"custom_message","customType":"x","content":"a note of an extension","display":true}`,
		userSays("question four \u2028 🙂"), assistantSays("answer four"))
	if _, err := c.Label(t.Context(), id, api.LabelRequest{Target: kept[1], Label: "here"}, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Name(t.Context(), id, api.NameRequest{Name: "elsewhere"}, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	return id
}

func userSays(words string) string { return harness.Message("user", words) }

func assistantSays(words string) string {
	return `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"` + words + `"}],"api":"openai-completions","provider":"fake","model":"fake-1",` +
		`"usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1772355600000}}`
}

// contextTexts returns the texts of the context in the log, in order.
func contextTexts(t *testing.T, c *client.Client, id string) []string {
	t.Helper()
	b, err := c.Context(t.Context(), id, client.View{})
	if err != nil {
		t.Fatal(err)
	}
	var built struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
			Summary string
		}
	}
	if err := json.Unmarshal(b, &built); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range built.Messages {
		switch {
		case m.Role == "system": // the agent makes it again
		case m.Summary != "":
			texts = append(texts, m.Summary)
		default:
			texts = append(texts, textsIn(m.Content)...)
		}
	}
	return texts
}

// run runs an agent's command on a host until it exits.
func run(t *testing.T, a *agent, host *harness.Host, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.node, append([]string{a.cli}, args...)...)
	cmd.Dir, cmd.Env = host.Dir, host.Environ()
	cmd.WaitDelay = judgeTimeout
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%.4000s", a, args, err, out)
	}
}

// holdsInOrder fails the test unless text contains all of want, in order.
func holdsInOrder(t *testing.T, text string, want []string) {
	t.Helper()
	rest := text
	for i, w := range want {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("the request lacks %q (%d of %d) in this order:\n%.8000s", w, i+1, len(want), text)
		}
		rest = after
	}
}
