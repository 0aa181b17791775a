package envelope

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
	"github.com/sesslog/sesslog/core/display"
)

// Chain is embedded by dialects whose sessions are chains with a header of ours.
type Chain struct{}

// Linear is true: the sessions are chains.
func (Chain) Linear() bool { return true }

// ImageStore is empty: images are part of the lines.
func (Chain) ImageStore() string { return "" }

// Keeps is true: the agent stores a session from its beginning on.
func (Chain) Keeps([]core.Entry) bool { return true }

// EntryID is 16 hexadecimal digits.
func (Chain) EntryID(random [16]byte) string { return hex.EncodeToString(random[:8]) }

// WithCWD implements optional.Relocator.
func (Chain) WithCWD(line []byte, cwd string) []byte { return jsonl.WithText(line, "cwd", cwd) }

// NewName makes a line that names the session.
func (Chain) NewName(name string) []byte {
	return append(jsonl.AppendMember([]byte(`{"type":"name"`), "name", name), '}')
}

// NewLabel makes a line that labels target, or clears its label if label is empty.
// It is in the log only: the agents have no labels.
func (Chain) NewLabel(target, label string) []byte { return jsonl.NewLabel(target, label) }

// Tree is the entries that have a place in the tree, each below the one before it.
func (Chain) Tree(es []core.Entry) []display.TreeNode {
	own := frame.Rows(es)
	nodes := make([]display.TreeNode, len(own))
	labels := tree.Labels(es)
	for i, e := range own {
		nodes[i] = display.TreeNode{ID: e.ID, Type: e.Type, Depth: i}
		if l, ok := labels[e.ID]; ok && e.ID != "" {
			nodes[i].Label, nodes[i].LabelTimestamp = &l.Text, &l.Time
		}
	}
	return nodes
}

// ChainInfo returns what all chains say of a session. Its leaf, its name and what is its
// agent's own are left to the dialect.
func ChainInfo(h core.Header, es []core.Entry) display.Info {
	info := display.Info{
		Header:    bytes.ToValidUTF8(h.Line, []byte("\uFFFD")),
		Version:   json.RawMessage("null"),
		SessionID: h.ID,
		CWD:       h.CWD,
		Types:     tree.Types(frame.Rows(es)),
		Labels:    tree.LabelTexts(es),
	}
	for _, n := range info.Types {
		info.EntryCount += n
	}
	return info
}

// MaxID is the longest id of an agent that is believed.
const MaxID = 128

// ChainHeader is Header with an id of up to MaxID characters, and with its lineage.
func ChainHeader(dialect string, line []byte) (core.Header, error) {
	h, err := Header(dialect, line)
	if err != nil {
		return h, err
	}
	if h.ID == "" || len(h.ID) > MaxID {
		return h, fmt.Errorf("the header has an id of %d characters, 1 to %d are allowed: %w", len(h.ID), MaxID, core.ErrInvalid)
	}
	return WithLineage(h), nil
}

// ChainFill adds id and timestamp, in this order, as far as f gives them and line
// lacks them, and reads the result with entry. A line of a chain has no parent.
func ChainFill(line []byte, f core.Fields, entry func([]byte) (core.Entry, error)) (core.Entry, error) {
	f.Parent = core.Leaf{}
	e, err := jsonl.Fill(line, f)
	if err != nil {
		return e, err
	}
	return entry(e.Line)
}
