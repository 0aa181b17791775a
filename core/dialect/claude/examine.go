package claude

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/optional"
)

// largest is the size above which versions of the agent fail to open a file.
const largest = 50 << 20

// An examiner reads a main file as the agent does, and as it was meant.
type examiner struct {
	optional.Examination
	thread                  // the lines that the agent reads, and those of broken after addBroken
	line     []int          // of each node, in the file
	state    []fate         // of each node
	broken   []brokenLine   // those that no line of their own repeats or replaces
	own      map[string]int // the last line of each uuid, or kind without one, that the agent reads
	shadowed int            // messages whose id a later message has
	begins   int            // the node with which the agent's chain begins, or -1
	open     bool           // the last line has no newline
	steps    int            // of walks, which are bounded
}

// A brokenLine is a line of the agent inside of another, which the agent skips.
type brokenLine struct {
	number int
	bytes  []byte
}

// A fate is what becomes of a line when the agent resumes the session.
type fate byte

const (
	undecided    fate = iota
	isSent            // or on the way to what is sent
	isSummarized      // before a compaction
	isBranch          // the session left it
	isLost
)

// Examine implements optional.Examiner. Messages are the lines of users and
// assistants in the main file.
func (d Dialect) Examine(main string, files map[string][]byte, join bool) (optional.Examination, error) {
	x, err := d.examine(main, files[main], join)
	if err == nil && x.shadowed > 0 {
		renamed := withOwnIDs(files[main])
		y, err := d.examine(main, renamed, join)
		if err != nil {
			return x.Examination, err
		}
		x.Append, x.Copy = nil, slices.Concat(renamed, y.Append)
	}
	return x.Examination, err
}

func (d Dialect) examine(main string, data []byte, join bool) (*examiner, error) {
	x := &examiner{thread: thread{ids: map[string]int{}}, own: map[string]int{}, begins: -1}
	x.File = main
	f, err := d.Pack(main, []bundle.File{{Path: main, Data: data}})
	if err != nil {
		return x, err
	}
	if len(data) > largest {
		x.fault(optional.TooLarge, 0, "", "the file has %d MiB, and versions of the agent cannot open such files", len(data)>>20)
	}
	x.lines(data)
	leaf := d.Leaf(f.Entries)
	x.leafIsThere(f.Entries)
	at := x.follow(leaf)
	x.addBroken()
	x.settle()
	if !leaf.IsNone() { // it was not cleared on purpose
		x.repair(at, join)
	}
	x.count()
	return x, nil
}

func (x *examiner) fault(kind optional.FaultKind, line int, repair optional.Repair, form string, args ...any) {
	x.Faults = append(x.Faults, optional.Fault{Kind: kind, Line: line, Text: fmt.Sprintf(form, args...), Repair: repair})
}

// lines reads the lines of the file.
func (x *examiner) lines(data []byte) {
	data = bytes.TrimPrefix(data, jsonl.ByteOrderMark)
	left := len(data)
	for number, line := range jsonl.Numbered(data) {
		left -= len(line) + 1
		if jsonl.IsBlank(line) {
			continue
		}
		r := readLine(line)
		if !r.ok {
			x.badLine(number, line, left < 0)
			continue
		}
		x.own[cmp.Or(r.uuid, r.kind)] = number
		if n, ok := readNode(line); ok {
			x.add(n, number)
		}
	}
	x.open = left < 0
	x.dropRead()
}

// dropRead drops glued lines that a line of their own repeats, as after a repair, and
// settings that a later line replaces: appended, they would come back.
func (x *examiner) dropRead() {
	x.broken = slices.DeleteFunc(x.broken, func(b brokenLine) bool {
		r := readLine(b.bytes)
		own := x.own[cmp.Or(r.uuid, r.kind)]
		return own > b.number || r.uuid != "" && own > 0
	})
	lacks := map[int]bool{} // lines that hold some of x.broken
	for _, b := range x.broken {
		lacks[b.number] = true
	}
	x.Faults = slices.DeleteFunc(x.Faults, func(f optional.Fault) bool { return f.Kind == optional.GluedLines && !lacks[f.Line] })
}

// add adds a node of a line.
func (x *examiner) add(n node, number int) {
	if was, ok := x.ids[n.uuid]; ok && n.isMessage() && x.nodes[was].isMessage() && !bytes.Equal(n.message, x.nodes[was].message) {
		x.fault(optional.CollidingIDs, number, optional.ByCopy, "it has the id of line %d, which the agent does not read therefore", x.line[was])
		x.shadowed++
	}
	x.ids[n.uuid] = len(x.nodes)
	x.nodes, x.line, x.state = append(x.nodes, n), append(x.line, number), append(x.state, undecided)
}

func (n *node) isMessage() bool { return n.kind == "user" || n.kind == "assistant" }

// badLine examines a line that is not a JSON object. open says that it has no
// newline.
func (x *examiner) badLine(number int, line []byte, open bool) {
	inside := 0
	for _, l := range jsonl.Glued(line, `{"parentUuid":`, `{"type":"`) {
		if r := readLine(l); r.ok && (r.uuid != "" || kinds[r.kind] && text(r.session) != "") {
			x.broken = append(x.broken, brokenLine{number, l})
			inside++
		}
	}
	switch {
	case inside > 0:
		x.fault(optional.GluedLines, number, optional.ByAppending, "the agent skips this line, which holds complete ones: %d", inside)
	case open:
		x.fault(optional.TruncatedTail, number, optional.ByAppending, "the last line is incomplete, and the next one would be added to it")
	default:
		x.fault(optional.BadLine, number, "", "it is not a JSON object, and the agent skips it")
	}
}

// leafIsThere examines the record of where the agent would continue.
func (x *examiner) leafIsThere(es []core.Entry) {
	if p, ok := lastPromptIn(es); ok && !p.empty {
		if _, there := x.ids[p.leaf]; !there {
			x.fault(optional.MissingLeaf, 0, optional.ByAppending, "the agent recorded that it would continue at %s, which is not in the file", short(p.leaf))
		}
	}
}

func short(id string) string { return jsonl.Clip(id, 8) }

// follow marks what the agent sends if it resumes at leaf, and returns the leaf's
// node, or -1.
func (x *examiner) follow(leaf core.Leaf) int {
	id, _ := leaf.ID()
	at, ok := x.ids[id]
	if !ok {
		return -1
	}
	if math.IsNaN(x.nodes[at].millis) {
		x.fault(optional.StaleLeaf, x.line[at], optional.ByAppending, "the agent would continue here, and refuses because the line has no time")
		return -1
	}
	chain := x.chain(at)
	x.begins = chain[0]
	way := x.afterCompaction(chain)
	boundary := way[0]
	if x.isBoundary(boundary) {
		x.segment(boundary)
		for i := range boundary {
			x.state[i] = isSummarized
		}
	}
	for _, n := range x.withParallel(way) {
		x.state[n] = isSent
	}
	return at
}

// segment examines whether the lines are there that a compaction kept.
func (x *examiner) segment(boundary int) {
	meta := member(x.nodes[boundary].line, "compactMetadata")
	named := !member(meta, "preservedSegment").IsNullish() || !member(meta, "preservedMessages").IsNullish()
	if _, nodes := x.preserved(meta); named && len(nodes) == 0 {
		x.fault(optional.LostSegment, x.line[boundary], "", "the compaction kept lines that are not in the file")
	}
}

// addBroken adds the nodes of lines that the agent skips.
func (x *examiner) addBroken() {
	for _, b := range x.broken {
		n, ok := readNode(b.bytes)
		if _, there := x.ids[n.uuid]; ok && !there {
			x.add(n, b.number)
			x.state[len(x.nodes)-1] = isLost
		}
	}
	x.order = nil
}

// settle decides what becomes of the lines that the agent does not send: those that
// follow a line that it reaches are on a branch, as are those of another beginning.
func (x *examiner) settle() {
	whole := x.begins < 0 || x.nodes[x.begins].parent == ""
	for i := range x.nodes {
		var way []int
		at := i
		for at >= 0 && x.state[at] == undecided && len(way) <= len(x.nodes) {
			way = append(way, at)
			up, missing := x.up(at)
			if missing || up < 0 && !whole {
				x.state[at] = isLost
				break
			}
			at = up
		}
		end := isBranch
		if at >= 0 && x.state[at] == isLost {
			end = isLost
		}
		for _, n := range way {
			x.state[n] = end
		}
	}
}

// count counts the messages by what becomes of them.
func (x *examiner) count() {
	x.Messages = x.shadowed
	for i := range x.nodes {
		n := &x.nodes[i]
		if !n.isMessage() || x.ids[n.uuid] != i {
			continue
		}
		x.Messages++
		switch x.state[i] {
		case isSent:
			x.Sent++
		case isSummarized:
			x.Summarized++
		case isBranch:
			x.Branches++
		}
	}
}
