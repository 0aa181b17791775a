package claude

import (
	"math"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A node is a line of the conversation in the main file.
type node struct {
	kind, uuid, parent string
	millis             float64
	message            jsjson.Value // of user and assistant
	content            jsjson.Value // of the message
	msgID              string       // of assistant
	line               []byte
	parsed             []block // of content, once they are needed
	sidechain          bool
	apiError           bool // shows an error of the API, which is not sent
}

// A thread is the conversation lines of a session.
type thread struct {
	nodes  []node
	ids    map[string]int // of several lines with one uuid, the last; once it is needed
	unique bool           // no two nodes are known to have one uuid
	order  []int          // byTime, once it is needed
}

// index returns the nodes by uuid.
func (t *thread) index() map[string]int {
	if t.ids == nil {
		t.ids = make(map[string]int, len(t.nodes))
		for i := range t.nodes {
			t.ids[t.nodes[i].uuid] = i
		}
	}
	return t.ids
}

// find returns the node id. It is quick if that is the node before the node at, as
// nearly every parent is.
func (t *thread) find(id string, at int) (int, bool) {
	if t.unique && at > 0 && t.nodes[at-1].uuid == id {
		return at - 1, true
	}
	at, ok := t.index()[id]
	return at, ok
}

// readThread reads the lines of the main file that have a uuid and are not those
// of a sub-agent.
func readThread(es []core.Entry) *thread {
	t := &thread{nodes: make([]node, 0, len(es)), unique: true}
	var r repeated
	for i := range es {
		e := &es[i]
		n, ok := nodeOf(e)
		if e.Aside {
			n, ok = r.node(e)
			t.unique = t.unique && !ok
		}
		if !ok {
			continue
		}
		t.nodes = append(t.nodes, n)
	}
	return t
}

// nodeOf reads an entry of the tree, whose line was read before. An envelope is no line
// of the agent.
func nodeOf(e *core.Entry) (n node, ok bool) {
	if e.Aside || e.ID == "" || envelope.IsOurs(e.Line) {
		return n, false
	}
	var v [len(nodeMembers)]jsjson.Value
	jsjson.PickAgain(e.Line, nodeMembers[:], v[:])
	n.kind, n.uuid, n.parent, n.millis = e.Type, e.ID, e.Parent, date.FromValue(v[3])
	if n.kind == "system" { // whose parent in the tree may be another
		n.parent = text(v[2])
	}
	n.read(e.Line, &v)
	return n, !n.sidechain
}

// repeated reads lines of the main file whose uuid an earlier line has.
type repeated struct {
	pieces []byte // of a long line, so far
	next   int    // the piece that must come next
}

// node reads an entry beside the tree. ok is false unless it completes such a line.
func (r *repeated) node(e *core.Entry) (n node, ok bool) {
	p, ours, err := envelope.Open(e.Line)
	if !ours || err != nil || !p.IsLine() || p.Path != mainPath {
		return n, false
	}
	last := p.Piece == p.Pieces-1 // only the last piece has the kind of the line
	if last && !isTalk(e.Type) {
		return n, false
	}
	if p.Pieces == 1 {
		return readNode(p.Bytes)
	}
	if p.Piece == 0 {
		r.pieces, r.next = nil, 0
	}
	if p.Piece != r.next {
		return n, false
	}
	r.pieces, r.next = append(r.pieces, p.Bytes...), r.next+1
	if !last {
		return n, false
	}
	line := r.pieces
	r.pieces = nil
	return readNode(line)
}

var nodeMembers = [...]string{"type", "uuid", "parentUuid", "timestamp", "isSidechain", "message", "isApiErrorMessage"}

func readNode(line []byte) (n node, ok bool) {
	n = parseNode(line)
	return n, n.uuid != "" && !n.sidechain
}

// parseNode reads a line. The zero node is returned if it is no JSON object.
func parseNode(line []byte) (n node) {
	var v [len(nodeMembers)]jsjson.Value
	if jsjson.Pick(line, nodeMembers[:], v[:]) != nil {
		return node{}
	}
	n.kind = kindOf(v[0])
	n.uuid, _ = v[1].Text()
	n.parent, _ = v[2].Text()
	n.millis = date.FromValue(v[3])
	n.read(line, &v)
	return n
}

var messageMembers = [...]string{"content", "id", "model"}

// read sets what v says of the line and its message.
func (n *node) read(line []byte, v *[len(nodeMembers)]jsjson.Value) {
	n.sidechain = v[4].Truthy()
	n.message, n.line = v[5], line
	if n.message.Kind() != '{' {
		return
	}
	var m [len(messageMembers)]jsjson.Value
	jsjson.PickAgain(n.message, messageMembers[:], m[:])
	n.content = m[0]
	if n.kind == "assistant" {
		n.msgID = text(m[1])
		n.apiError = v[6].Truthy() && m[2].Is(noModel)
	}
}

// blocks returns the blocks of the message.
func (n *node) blocks() []block {
	if n.parsed == nil {
		eachBlock(n.content, func(b block) { n.parsed = append(n.parsed, b) })
	}
	return n.parsed
}

// hasResult reports whether the message holds the result of a call.
func (n *node) hasResult() bool {
	return slices.ContainsFunc(n.blocks(), func(b block) bool { return b.kind.Is("tool_result") })
}

// member returns a member of an object that is part of a valid line, or nil.
func member(v jsjson.Value, name string) jsjson.Value {
	var out [1]jsjson.Value
	if v.Kind() == '{' {
		jsjson.PickAgain(v, []string{name}, out[:])
	}
	return out[0]
}

func text(v jsjson.Value) string {
	s, _ := v.Text()
	return s
}

// bridged is how old a line may be, in milliseconds, to stand for the missing
// parent of another.
const bridged = 5000

// chain returns the nodes from the root to the node at, in order.
func (t *thread) chain(at int) []int {
	way := make([]int, 0, len(t.nodes))
	seen := make([]bool, len(t.nodes))
	for at >= 0 && !seen[at] {
		seen[at] = true
		way = append(way, at)
		at, _ = t.up(at)
	}
	slices.Reverse(way)
	return way
}

// up returns the node before the node at, or -1 if there is none. If the parent is
// missing, the latest earlier line stands for it if it is recent.
func (t *thread) up(at int) (up int, missing bool) {
	n := &t.nodes[at]
	if n.parent == "" {
		return -1, false
	}
	if up, ok := t.find(n.parent, at); ok {
		return up, false
	}
	if t.order == nil {
		t.order = t.byTime()
	}
	up = t.bridge(t.order, n.millis)
	return up, up < 0
}

// byTime returns the dated nodes in the order of their times.
func (t *thread) byTime() []int {
	order := make([]int, 0, len(t.nodes))
	for i := range t.nodes {
		if !math.IsNaN(t.nodes[i].millis) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, t.earlier)
	return order
}

func (t *thread) earlier(a, b int) int {
	switch d := t.nodes[a].millis - t.nodes[b].millis; {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}

// bridge returns the node that stands for the missing parent of one of that
// time, or -1.
func (t *thread) bridge(byTime []int, millis float64) int {
	at, _ := slices.BinarySearchFunc(byTime, millis, func(i int, m float64) int {
		if t.nodes[i].millis < m {
			return -1
		}
		return 1
	})
	if at == 0 || millis-t.nodes[byTime[at-1]].millis > bridged {
		return -1
	}
	return byTime[at-1]
}
