package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/scenario"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// TestScenarios runs testdata/scenarios. A command is "NODE COMMAND ARGUMENTS", or one
// of the log. Each node caches the session as of its last read or write.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			x := &cluster{t: t, log: memlog.New("test"), blobs: streamtest.NewBlobs(), nodes: map[string]*scenarioNode{}, writers: map[string]string{}}
			create(t, node(x.log, x.blobs), "session-1", entry("root", ""))
			scenario.Run(t, file, func(_ *testing.T, c scenario.Command) string {
				return x.do(append([]string{c.Name}, c.Args...))
			})
		})
	}
}

// cluster is a log and its nodes by name.
type cluster struct {
	t       *testing.T
	log     *memlog.Log
	blobs   *streamtest.Blobs
	nodes   map[string]*scenarioNode
	writers map[string]string // node by writer
}

// scenarioNode is one node and the writer on it.
type scenarioNode struct {
	core.Log
	name   string
	s      *engine.Session
	writer string       // of its claim
	seen   *core.Cursor // expected position of the next append
	answer bool         // the next answer is lost
}

// Append stores r, and may lose the answer.
func (n *scenarioNode) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	pos, err := n.Log.Append(ctx, id, after, r)
	if n.answer && err == nil {
		n.answer = false
		return 0, fmt.Errorf("the answer is lost: %w", core.ErrUncertain)
	}
	return pos, err
}

func (x *cluster) do(args []string) string {
	switch args[0] {
	case "log":
		return x.records()
	case "lose-tail":
		x.log.Forget(1)
		return ""
	}
	n := x.node(args[0])
	switch args[1] {
	case "append":
		return x.append(n, args[2:])
	case "claim":
		got, _, err := n.s.Claim(x.t.Context(), core.ClaimRequest{Agent: n.name, TakeOver: slices.Contains(args, "take-over")})
		if err != nil {
			return x.failure(err)
		}
		n.writer, x.writers[got.Writer] = got.Writer, n.name
		return fmt.Sprintf("epoch %d\n", got.Epoch)
	case "release":
		if err := n.s.Release(x.t.Context(), core.MainHead, n.writer, core.Notice{}); err != nil {
			return x.failure(err)
		}
		n.writer = ""
		return "ok\n"
	case "lose-answer":
		n.answer = true
		return ""
	case "expect-position":
		at := state(x.t, n.s).Cursor()
		n.seen = &at
		return fmt.Sprintf("record %d\n", at.Seq)
	case "read":
		if err := n.s.Refresh(x.t.Context()); err != nil {
			return x.failure(err)
		}
		return x.heads(n)
	}
	x.t.Fatalf("unknown command %q", args)
	return ""
}

func (x *cluster) node(name string) *scenarioNode {
	if n := x.nodes[name]; n != nil {
		return n
	}
	n := &scenarioNode{Log: x.log, name: name}
	n.s = open(x.t, node(n, x.blobs), "session-1")
	x.nodes[name] = n
	return n
}

// append takes entry ids and an option: rebase, or branch=NAME.
func (x *cluster) append(n *scenarioNode, args []string) string {
	a := engine.Append{Writer: n.writer, After: n.seen}
	for _, arg := range args {
		branch, isBranch := strings.CutPrefix(arg, "branch=")
		switch {
		case arg == "rebase":
			a.OnConflict = session.Rebase
		case isBranch:
			a.OnConflict, a.Branch = session.Branch, branch
		default:
			a.Lines = append(a.Lines, []byte(message(arg)))
		}
	}
	rec, err := n.s.Append(x.t.Context(), a)
	if err != nil {
		return x.failure(err)
	}
	return fmt.Sprintf("stored %d on %s, record %d\n", rec.Stored, rec.Head, rec.Cursor.Seq)
}

// failure returns the error and its details.
func (x *cluster) failure(err error) string {
	var rejected core.RejectedAppend
	out := ""
	fenced, isFenced := errors.AsType[*core.FencedError](err)
	moved, isMoved := errors.AsType[*core.ConflictError](err)
	switch {
	case isFenced && fenced.Holder != nil:
		out, rejected = "fenced by "+fenced.Holder.Agent+"\n", fenced.RejectedAppend
	case isFenced:
		out, rejected = "fenced: the claim has ended\n", fenced.RejectedAppend
	case isMoved:
		out, rejected = fmt.Sprintf("conflict: expected record %d, head is at %d\n", moved.Want.Seq, moved.Have.Seq), moved.RejectedAppend
	default:
		return err.Error() + "\n"
	}
	for _, c := range rejected.Since {
		out += fmt.Sprintf("  since: %d %s %s\n", c.Cursor.Seq, c.Kind, strings.Join(c.Entries, " "))
	}
	return strings.ReplaceAll(out, " \n", "\n")
}

// heads lists the path and the holder of each head.
func (x *cluster) heads(n *scenarioNode) string {
	st, out := state(x.t, n.s), ""
	for _, name := range st.HeadNames() {
		path := []string{}
		for id, ok := st.Leaf(name).ID(); ok && id != ""; {
			e, _ := st.Entry(id)
			path = append(path, id)
			id = e.Parent
		}
		slices.Reverse(path)
		for writer, node := range x.writers {
			name = strings.ReplaceAll(name, writer, "<"+node+">")
		}
		out += name + ": " + strings.Join(path, " ")
		if h := st.Heads[name]; h != nil && h.Claim != nil {
			out += " (held by " + h.Claim.Agent + ")"
		}
		out += "\n"
	}
	return out
}

// records lists the log.
func (x *cluster) records() string {
	out := ""
	for _, r := range records(x.t, x.log, "session-1") {
		out += fmt.Sprintf("%d %s %s", r.Seq, r.Kind, r.Head)
		if node := x.writers[r.Writer]; node != "" {
			out += " " + node
		}
		if r.Redo {
			out += " (stored again)"
		}
		out += "\n"
	}
	return out
}
