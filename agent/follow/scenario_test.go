package follow_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/scenario"
)

// TestScenarios runs testdata/scenarios: followers on several hosts, and a real
// node. The commands are those of world.run.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			w := &world{node: startCluster(t).node(t), hosts: map[string]*setup{}, seen: map[string]int{}, stops: map[string]func(){}}
			scenario.Run(t, file, w.run)
		})
	}
}

// A world is a node and the hosts of a scenario.
type world struct {
	node  *client.Client
	hosts map[string]*setup
	seen  map[string]int // by host, how many notices were printed
	stops map[string]func()
}

// run runs one command:
//
//	host NAME [claims]         start a follower; with claims it claims heads
//	write HOST FILE            write a file: a header and one entry per input line
//	append HOST FILE           append entries
//	rename HOST FROM TO        rename a file
//	remove HOST FILE           remove a file
//	restart HOST               close the follower and open it again
//	lose HOST N                lose the answers to the next N writes
//	sync HOST                  copy everything; prints the notices
//	run HOST KIND              run until a notice of that kind comes; prints it
//	start HOST, stop HOST      run in the background
//	await HEAD HOST            wait until a follower on HOST has claimed the head
//	amend                      replace an entry in the log
//	claim HOST [take-over]     claim main for an agent on another host
//	log                        print the heads, the entries and the notes
//
// An entry is written as "ID PARENT TEXT", with - for no parent; a line that starts
// with ! is written as it is.
func (w *world) run(t *testing.T, c scenario.Command) string {
	switch c.Name {
	case "host":
		w.start(t, c.Args)
	case "write":
		write(t, w.path(c), text(append([]string{header}, entryLines(c.Input)...)...))
	case "append":
		add(t, w.path(c), text(entryLines(c.Input)...))
	case "rename":
		dir := w.hosts[c.Args[0]].dir
		if err := os.Rename(filepath.Join(dir, c.Args[1]), filepath.Join(dir, c.Args[2])); err != nil {
			t.Fatal(err)
		}
	case "remove":
		if err := os.Remove(w.path(c)); err != nil {
			t.Fatal(err)
		}
	case "restart":
		s := w.hosts[c.Args[0]]
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s.open(t)
	case "lose":
		var n int64
		_, _ = fmt.Sscan(c.Args[1], &n)
		w.hosts[c.Args[0]].line.lose.Store(n)
	case "sync":
		w.hosts[c.Args[0]].flush(t)
		return w.notices(c.Args[0])
	case "run":
		s := w.hosts[c.Args[0]]
		stop := s.run(t)
		until(t, c.Args[1], func() bool { return s.told.count(follow.Kind(c.Args[1])) > 0 })
		stop()
		return w.notices(c.Args[0])
	case "start":
		w.stops[c.Args[0]] = w.hosts[c.Args[0]].run(t)
	case "stop":
		w.stops[c.Args[0]]()
		return w.notices(c.Args[0])
	case "await":
		until(t, "the claim", isHeldBy(t, w.node, c.Args[0], c.Args[1]))
	case "amend":
		for _, line := range c.Input {
			id, _, _ := strings.Cut(line, " ")
			if _, err := w.node.Amend(t.Context(), sessionID, id, []byte(entryLines([]string{line})[0]), client.AppendOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	case "claim":
		r := core.ClaimRequest{Agent: "pi", Host: c.Args[0], TakeOver: len(c.Args) > 1}
		if _, err := w.node.Claim(t.Context(), sessionID, r); err != nil {
			t.Fatal(err)
		}
	case "log":
		return w.log(t)
	default:
		t.Fatalf("unknown command %s", c.Name)
	}
	return ""
}

func (w *world) start(t *testing.T, args []string) {
	s := newSetup(t, w.node, t.TempDir())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(args) > 1 {
		s.host = args[0]
	}
	s.open(t)
	w.hosts[args[0]] = s
}

func (w *world) path(c scenario.Command) string {
	return filepath.Join(w.hosts[c.Args[0]].dir, c.Args[1])
}

func entryLines(input []string) (lines []string) {
	for _, in := range input {
		if raw, ok := strings.CutPrefix(in, "!"); ok {
			lines = append(lines, raw)
			continue
		}
		id, rest, _ := strings.Cut(in, " ")
		parent, words, _ := strings.Cut(rest, " ")
		lines = append(lines, said(id, strings.TrimPrefix(parent, "-"), words))
	}
	return lines
}

// notices returns the notices of a host that were not printed yet.
func (w *world) notices(host string) string {
	s := w.hosts[host]
	s.told.mu.Lock()
	defer s.told.mu.Unlock()
	var b strings.Builder
	for _, n := range s.told.all[w.seen[host]:] {
		fmt.Fprintf(&b, "%s: %s\n", n.Kind, w.plain(n.Text))
	}
	w.seen[host] = len(s.told.all)
	return b.String()
}

var branchName = regexp.MustCompile(`\b(main|file)-[0-9a-f]{8,}\b`)

// plain replaces what differs in each run.
func (w *world) plain(s string) string {
	for name, host := range w.hosts {
		s = strings.ReplaceAll(s, host.dir+"/", name+":")
	}
	s = branchName.ReplaceAllString(s, "$1-HASH")
	s = strings.ReplaceAll(s, w.node.Base, "NODE")
	return strings.ReplaceAll(s, sessionID, "SESSION")
}

func (w *world) log(t *testing.T) string {
	var b strings.Builder
	hs, err := w.node.Heads(t.Context(), sessionID)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hs.Heads {
		id, _ := h.Leaf.ID()
		fmt.Fprintf(&b, "head %s at %s", w.plain(h.Head), cmp.Or(id, "-"))
		if h.Claim != nil {
			fmt.Fprintf(&b, ", held by %s", h.Claim.Host)
		}
		b.WriteByte('\n')
	}
	for _, line := range entries(t, w.node, sessionID) {
		var e struct {
			ID, ParentID string
			Message      struct{ Content string }
		}
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %s\n", e.ID, cmp.Or(e.ParentID, "-"), e.Message.Content)
	}
	for _, why := range w.notes(t) {
		fmt.Fprintf(&b, "note: %s\n", w.plain(why))
	}
	return b.String()
}

// notes returns the notes of the session, each once: after a lost answer the number
// of fences depends on timing.
func (w *world) notes(t *testing.T) []string {
	all := map[string]int{}
	for i, why := range notes(t, w.node, sessionID) {
		if _, ok := all[why]; !ok {
			all[why] = i
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(x, y string) int { return cmp.Compare(all[x], all[y]) })
}
