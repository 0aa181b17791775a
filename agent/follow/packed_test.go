package follow_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
)

const claudeID = "0199aaaa-0000-4000-8000-00000000000c"

// claudeLine returns a line of a main file of Claude Code, or of a sub-agent's.
func claudeLine(n int, sidechain bool) string {
	parent := "null"
	if n > 1 {
		parent = fmt.Sprintf("%q", claudeUUID(n-1, sidechain))
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":%t,"type":"user","message":{"role":"user","content":"line %d"},"uuid":%q,"timestamp":"2026-01-02T03:04:%02d.000Z","cwd":"/w","sessionId":%q,"version":"2.1.197"}`+"\n",
		parent, sidechain, n, claudeUUID(n, sidechain), n%60, claudeID)
}

func claudeUUID(n int, sidechain bool) string {
	if sidechain {
		n += 1 << 20
	}
	return fmt.Sprintf("0199bbbb-0000-4000-8000-%012x", n)
}

const claudePrompt = `{"type":"last-prompt","lastPrompt":"p","leafUuid":null,"sessionId":"` + claudeID + `"}` + "\n"

// A claudeDir is the sessions directory of a Claude Code, and a follower of it.
type claudeDir struct {
	*follow.Follower
	root, state string
	node        *client.Client
	told        *told
}

func newClaudeDir(t *testing.T) *claudeDir {
	t.Helper()
	c := &claudeDir{root: filepath.Join(t.TempDir(), "projects"), state: t.TempDir(), node: startCluster(t).node(t), told: &told{}}
	c.open(t)
	return c
}

func (c *claudeDir) open(t *testing.T) {
	t.Helper()
	f, err := follow.New(follow.Config{
		Node: c.node, Roots: []follow.Root{{Path: c.root, Dialect: "claude"}}, State: c.state, Notify: c.told.note, By: "tester", Host: "here",
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Follower = f
	t.Cleanup(func() { _ = f.Close() })
}

func (c *claudeDir) restart(t *testing.T) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c.open(t)
}

func (c *claudeDir) path(name string) string { return filepath.Join(c.root, "-w", claudeID+name) }

func (c *claudeDir) add(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o700); err != nil {
		t.Fatal(err)
	}
	add(t, c.path(name), text)
}

func (c *claudeDir) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func (c *claudeDir) flush(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// differs returns what is not in the log as it is on the disk; empty if nothing is.
func (c *claudeDir) differs(t *testing.T) string {
	t.Helper()
	body, err := c.node.ExportPacked(t.Context(), claudeID)
	if err != nil {
		return err.Error()
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		return err.Error()
	}
	d, err := dialect.Named("claude")
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.File(b)
	if err != nil {
		t.Fatal(err)
	}
	files, err := d.(bundle.Bundler).Unpack(f.Header, f.Entries, "/w")
	if err != nil {
		t.Fatal(err)
	}
	inLog := map[string][]byte{}
	for _, file := range files {
		inLog[strings.TrimPrefix(file.Path, "projects/")] = file.Data
	}
	different := ""
	_ = filepath.WalkDir(c.root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(c.root, path)
		if data, _ := os.ReadFile(path); !bytes.Equal(data, inLog[filepath.ToSlash(name)]) {
			different += fmt.Sprintf("%s: the file has %d bytes, the log %d\n", name, len(data), len(inLog[name]))
		}
		return nil
	})
	return different
}

func (c *claudeDir) wantInStep(t *testing.T, notices int) {
	t.Helper()
	if text := c.differs(t); text != "" {
		t.Errorf("%snotices: %v", text, c.told.all)
	}
	if len(c.told.all) != notices {
		t.Errorf("%d notices, want %d: %v", len(c.told.all), notices, c.told.all)
	}
}

func TestFollowsAllFilesOfASession(t *testing.T) {
	t.Parallel()
	c := newClaudeDir(t)
	stop := c.run(t)
	inStep := func() bool { return c.differs(t) == "" }
	c.add(t, ".jsonl", `{"type":"mode","mode":"normal","sessionId":"`+claudeID+`"}`+"\n"+claudeLine(1, false))
	until(t, "the main file", inStep)
	c.add(t, "/subagents/agent-a1.jsonl", claudeLine(1, true))
	c.add(t, "/subagents/agent-a1.meta.json", `{"agentType":"x"}`)
	c.add(t, "/tool-results/b1.txt", "a long output\nwithout an end")
	until(t, "companions", inStep)
	for n := 2; n < 6; n++ {
		c.add(t, "/subagents/agent-a1.jsonl", claudeLine(n, true))
		c.add(t, ".jsonl", claudePrompt)
		line := claudeLine(n, false)
		c.add(t, ".jsonl", line[:20])
		c.add(t, ".jsonl", line[20:])
		until(t, fmt.Sprint("line ", n), inStep)
	}
	stop()
	c.flush(t)
	c.wantInStep(t, 1)
	hs, err := c.node.Heads(t.Context(), claudeID)
	if leaf, _ := hs.Heads[0].Leaf.ID(); err != nil || len(hs.Heads) != 1 || leaf != claudeUUID(5, false) {
		t.Errorf("heads are %+v, %v", hs.Heads, err)
	}
}

func TestFollowsAfterRestart(t *testing.T) {
	t.Parallel()
	c := newClaudeDir(t)
	c.add(t, ".jsonl", claudeLine(1, false))
	c.add(t, "/subagents/agent-a1.jsonl", claudeLine(1, true))
	c.flush(t)
	c.wantInStep(t, 1)
	c.restart(t)
	c.flush(t)
	c.add(t, ".jsonl", claudePrompt+claudePrompt+claudeLine(2, false))
	c.add(t, "/subagents/agent-a2.jsonl", claudeLine(2, true))
	c.flush(t)
	c.restart(t)
	c.add(t, "/subagents/agent-a1.jsonl", claudeLine(3, true))
	c.add(t, ".jsonl", claudePrompt+claudeLine(3, false))
	c.flush(t)
	c.wantInStep(t, 1)

	// The copy and the state are only caches.
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c.state = t.TempDir()
	c.open(t)
	c.add(t, ".jsonl", claudeLine(4, false))
	c.flush(t)
	c.wantInStep(t, 2)
}

// An agent that was killed leaves part of a line, after which the next one writes.
func TestFollowsLineThatWasCutOff(t *testing.T) {
	t.Parallel()
	c := newClaudeDir(t)
	c.add(t, ".jsonl", claudeLine(1, false)+claudeLine(2, false)[:40])
	c.flush(t)
	c.wantInStep(t, 1)
	c.add(t, ".jsonl", "\n"+claudeLine(2, false))
	c.flush(t)
	c.add(t, ".jsonl", strings.TrimSuffix(claudeLine(3, false), "\n"))
	c.flush(t)
	c.wantInStep(t, 1)
	c.add(t, ".jsonl", "\n"+claudeLine(4, false))
	c.flush(t)
	c.wantInStep(t, 1)
}
