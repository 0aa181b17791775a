package claude

import (
	"bytes"
	"crypto/sha256"
	"math"
	"slices"
	"strconv"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/core/optional"
)

// repair finds what keeps the agent from the messages before the last one, and what
// to add to the file so that it reaches them. at is the node where it would
// continue, or -1.
func (x *examiner) repair(at int, join bool) {
	var add [][]byte
	for _, b := range x.broken {
		add = append(add, b.bytes)
	}
	leaf := x.freshLeaf(at)
	if leaf >= 0 {
		links, way := x.relink(leaf)
		add = append(append(add, links...), x.joins(way, join)...)
	}
	if leaf >= 0 && (len(add) > 0 || leaf != at || x.has(optional.MissingLeaf)) {
		add = append(add, x.leafLine(leaf))
	}
	if x.open && (len(add) > 0 || x.has(optional.TruncatedTail)) {
		x.Append = append(x.Append, '\n')
	}
	for _, line := range add {
		x.Append = append(append(x.Append, line...), '\n')
	}
}

func (x *examiner) has(kind optional.FaultKind) bool {
	return slices.ContainsFunc(x.Faults, func(f optional.Fault) bool { return f.Kind == kind })
}

// joins returns lines that put the branches beside way into it, if join is set.
func (x *examiner) joins(way []int, join bool) (add [][]byte) {
	for _, b := range x.left(way) {
		repair := optional.ByJoining
		if join {
			repair = optional.ByAppending
			add = append(add, withParent(&x.nodes[b.next], x.nodes[b.tip].uuid))
		}
		x.fault(optional.AbandonedLines, x.line[b.tip], repair,
			"%d messages end here; the session continued at line %d without them", b.messages, x.line[b.next])
	}
	return add
}

// freshLeaf returns the node where the agent should continue: at, unless a later
// message is neither on the way to it nor beside it.
func (x *examiner) freshLeaf(at int) int {
	last := -1
	for i := range x.nodes {
		n := &x.nodes[i]
		if n.isMessage() && x.ids[n.uuid] == i && !math.IsNaN(n.millis) && (last < 0 || x.line[i] >= x.line[last]) {
			last = i
		}
	}
	if last < 0 || at >= 0 && x.state[last] == isSent {
		return at
	}
	if at >= 0 {
		chain := x.chain(at)
		for i := len(chain) - 1; i >= 0; i-- {
			if n := &x.nodes[chain[i]]; n.isMessage() && n.millis > x.nodes[last].millis {
				return at // the message at the end of the file is older
			}
		}
		if x.state[last] != isLost {
			x.fault(optional.StaleLeaf, x.line[at], optional.ByAppending, "the agent would continue here, before the last message, line %d", x.line[last])
		}
	}
	for _, i := range x.chain(last) {
		if x.state[i] == isBranch {
			x.state[i] = isLost
		}
	}
	return last
}

// relink returns lines that lead on from where the way up from leaf is interrupted,
// and the way with them.
func (x *examiner) relink(leaf int) (add [][]byte, way []int) {
	seen := map[int]bool{}
	for at := leaf; at >= 0; {
		seen[at] = true
		way = append(way, at)
		up, missing := x.up(at)
		if cycle := up >= 0 && seen[up]; !missing && !cycle {
			at = up
			continue
		}
		n, before := &x.nodes[at], x.before(at, seen)
		kind, repair := optional.MissingParent, optional.ByAppending
		text := "its parent " + short(n.parent) + " is not in the file"
		if !missing {
			kind, text = optional.Cycle, "it is its own ancestor"
		}
		switch {
		case before < 0:
			repair = ""
			text += ", and neither is any earlier line"
		case missing:
			add = append(add, x.bridgeLine(n, &x.nodes[before]))
		default:
			add = append(add, withParent(n, x.nodes[before].uuid))
		}
		x.fault(kind, x.line[at], repair, "%s", text)
		at = before
	}
	slices.Reverse(way)
	return add, way
}

// Limits of the search for a line that stands for a missing one: how many lines are
// tried for one, and how many steps are taken for all.
const (
	tries    = 64
	maxSteps = 50e6
)

// before returns the latest node that is older than the node at and follows neither
// it nor its parent, or -1.
func (x *examiner) before(at int, seen map[int]bool) int {
	if x.order == nil {
		x.order = x.byTime()
	}
	i, _ := slices.BinarySearchFunc(x.order, x.nodes[at].millis, func(i int, m float64) int {
		if x.nodes[i].millis <= m {
			return -1
		}
		return 1
	})
	for left := tries; i > 0 && left > 0; i-- {
		c := x.order[i-1]
		if seen[c] || x.ids[x.nodes[c].uuid] != c || x.line[c] >= x.line[at] {
			continue
		}
		left--
		if !x.follows(c, at) {
			return c
		}
	}
	return -1
}

// follows reports whether the way up from the node a leads to b or to the missing
// parent of b, or is too long.
func (x *examiner) follows(a, b int) bool {
	for range x.nodes {
		if a < 0 {
			return false
		}
		if x.steps++; a == b || x.steps > maxSteps {
			return true
		}
		if n := &x.nodes[a]; n.parent != "" && n.parent == x.nodes[b].parent {
			if _, there := x.find(n.parent, a); !there {
				return true
			}
		}
		a, _ = x.up(a)
	}
	return true
}

// bridgeLine makes a line that stands for the missing parent of n. The agent follows
// such lines and never sends them.
func (x *examiner) bridgeLine(n, before *node) []byte {
	b := append([]byte(`{"parentUuid":`), jsonl.Quoted(before.uuid)...)
	b = append(b, `,"isSidechain":false,"type":"system","subtype":"informational","content":"Repaired: a line was missing here.","isMeta":false`...)
	b = jsonl.AppendMember(b, "timestamp", text(member(n.line, "timestamp")))
	b = jsonl.AppendMember(b, "uuid", n.parent)
	b = append(b, `,"level":"info"`...)
	for _, name := range []string{"userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch"} {
		if v := text(member(n.line, name)); v != "" {
			b = jsonl.AppendMember(b, name, v)
		}
	}
	return append(b, '}')
}

// withParent returns the line of n with another parent. Of two lines with one id, the
// agent reads the later one.
func withParent(n *node, parent string) []byte { return jsonl.WithText(n.line, "parentUuid", parent) }

// leafLine makes the record that the agent continues at leaf.
func (x *examiner) leafLine(leaf int) []byte {
	b := jsonl.AppendMember([]byte(`{"type":"`+typeLastPrompt+`"`), "leafUuid", x.nodes[leaf].uuid)
	if id := text(member(x.nodes[leaf].line, "sessionId")); id != "" {
		b = jsonl.AppendMember(b, "sessionId", id)
	}
	return append(b, '}')
}

// A leftBranch is messages that the session did not continue from.
type leftBranch struct {
	tip, next         int // its last message, and the line where the session continued
	messages, prompts int
}

// leftPrompts is the least number of prompts of a branch that is reported. A user who
// rewinds leaves one.
const leftPrompts = 2

// left returns the branches beside way that ended before the session continued.
func (x *examiner) left(way []int) []leftBranch {
	place := make(map[int]int, len(way))
	for i, n := range way {
		place[n] = i
	}
	from := make([]int, len(x.nodes)) // the place on way where a node's branch begins, from 1; -1 if none
	found := map[int]*leftBranch{}
	for i := range x.nodes {
		var up []int
		at := i
		for at >= 0 && from[at] == 0 && len(up) <= len(x.nodes) {
			p, on := place[at]
			if on {
				from[at] = p + 1
				break
			}
			up = append(up, at)
			at, _ = x.up(at)
		}
		where := -1
		if at >= 0 && from[at] != 0 {
			where = from[at]
		}
		for _, n := range up {
			from[n] = where
		}
		n := &x.nodes[i]
		if _, on := place[i]; on || where < 0 || where >= len(way) || !n.isMessage() || x.ids[n.uuid] != i || x.state[i] == isSent || x.state[i] == isSummarized {
			continue
		}
		b := found[where]
		if b == nil {
			b = &leftBranch{tip: i, next: way[where]}
			found[where] = b
		}
		b.messages++
		b.prompts += prompts(n)
		if n.millis >= x.nodes[b.tip].millis {
			b.tip = i
		}
	}
	var all []leftBranch
	for _, b := range found {
		if b.prompts >= leftPrompts && x.nodes[b.tip].millis <= x.nodes[b.next].millis {
			all = append(all, *b)
		}
	}
	slices.SortFunc(all, func(a, b leftBranch) int { return x.line[a.tip] - x.line[b.tip] })
	return all
}

// prompts is 1 for what a user typed.
func prompts(n *node) int {
	if n.kind == "user" && !n.hasResult() && !member(n.line, "isMeta").Truthy() {
		return 1
	}
	return 0
}

// withOwnIDs returns data with new ids for the messages whose id a later message has.
// Lines up to that message that name the id as their parent get the new one.
func withOwnIDs(data []byte) []byte {
	last := map[string]int{} // the line with the last message of an id
	content := map[string][]byte{}
	shared := map[string]bool{}
	for number, line := range jsonl.Numbered(data) {
		if n, ok := readNode(line); ok && n.isMessage() {
			shared[n.uuid] = shared[n.uuid] || content[n.uuid] != nil && !bytes.Equal(content[n.uuid], n.message)
			content[n.uuid], last[n.uuid] = n.message, number
		}
	}
	var out []byte
	now := map[string]string{}
	for number, line := range jsonl.Numbered(data) {
		n, ok := readNode(line)
		if id := now[n.parent]; ok && id != "" {
			line = jsonl.WithText(line, "parentUuid", id)
		}
		switch {
		case !ok || !n.isMessage() || !shared[n.uuid]:
		case last[n.uuid] == number:
			delete(now, n.uuid)
		default:
			sum := sha256.Sum256([]byte(n.uuid + "\x00" + strconv.Itoa(number)))
			now[n.uuid] = newid.UUID([16]byte(sum[:16]))
			line = jsonl.WithText(line, "uuid", now[n.uuid])
		}
		out = append(append(out, line...), '\n')
	}
	return out
}
