package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core/item"
)

// The bodies of records. append and amend carry entry lines joined by "\n".
// open carries an Origin, the header line and entry lines, joined likewise.
// Every other kind carries one JSON object, described here. Readers ignore
// members they do not know.

// An Origin describes where a session came from. It is the first line of an
// open.
type Origin struct {
	Dialect string `json:"dialect"`
	// Version is the format version of the file that was imported.
	Version string `json:"version,omitempty"`
	// Original is the file as it was, if header and entries do not represent
	// all of it: it was migrated, or had lines that are not entries.
	Original Digest `json:"original,omitzero"`
	// OriginalSize is its length in bytes.
	OriginalSize int64 `json:"originalSize,omitempty"`
	// Entries is how many entries the file had.
	Entries int `json:"entries,omitempty"`
	// Skipped are the file's lines that are not entries.
	Skipped []BadLine `json:"skipped,omitempty"`
	// Parents are the places that a session made in the log came from, in order.
	// Records from before there could be several have From instead. Lineages reads
	// both; only Parents is written.
	Parents []Lineage `json:"parents,omitempty"`
	From    *Lineage  `json:"from,omitempty"`
	// Kind is how a session without parents was made, a word of package
	// lineage: "create", "detach".
	Kind string `json:"kind,omitempty"`
	// Key identifies the request that made the session, so that a retry of the
	// request finds the session.
	Key string `json:"key,omitempty"`
	// Request is the digest of what that request asked for: another one with the same
	// Key must not get the session. Zero without Key, and up to version 0.11.
	Request Digest `json:"request,omitzero"`
	// Time is that of the writer's clock, Host its host, and By its user or program.
	Time time.Time `json:"time,omitzero"`
	Host string    `json:"host,omitempty"`
	By   string    `json:"by,omitempty"`
}

// SetKey sets Key, and Request to the digest of what the request asks for: texts,
// booleans, and values of which their JSON tells all. The digest must not change between
// versions. Without a key, there is none.
func (o *Origin) SetKey(key string, asked ...any) {
	o.Key = key
	if key == "" {
		return
	}
	text, _ := json.Marshal(asked) // fails for no such value
	o.Request = DigestOf(text)
}

// A Lineage names the place in another session that this one came from.
type Lineage struct {
	Session SessionID `json:"session"`
	Cursor  Cursor    `json:"cursor,omitzero"` // the source's position at that time
	Entry   string    `json:"entry,omitempty"`
	// Kind is a word of package lineage, such as "fork". It is a string because
	// later versions may record other words.
	Kind string `json:"kind"`
}

// Lineages returns the sources of the session in order, as recorded when it was
// made. Returns none for an imported session, whose header may name its
// sources.
func (o *Origin) Lineages() []Lineage {
	if len(o.Parents) == 0 && o.From != nil {
		return []Lineage{*o.From}
	}
	return o.Parents
}

// A Claim is a writer's exclusive hold on one head. It is the body of a claim
// record, less Writer, Epoch and Seq, which its headers carry.
type Claim struct {
	Agent string    `json:"agent,omitempty"`
	Host  string    `json:"host,omitempty"`
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since,omitzero"` // by the writer's clock, for people

	Writer string `json:"writer,omitempty"`
	Epoch  uint64 `json:"epoch,omitempty"`
	Seq    uint64 `json:"seq,omitempty"`
}

// Name is the agent that has the claim, and its host.
func (c *Claim) Name() string {
	who := c.Agent
	if who == "" {
		who = "writer " + c.Writer
	}
	if c.Host != "" {
		who += " on " + c.Host
	}
	return who
}

func (c *Claim) String() string {
	who := c.Name()
	if !c.Since.IsZero() {
		who += " since " + c.Since.UTC().Format(time.RFC3339)
	}
	return who
}

// A Move is the body of a head record: the head named by Sess-Head points to
// Leaf.
type Move struct {
	Leaf Leaf `json:"leaf"`
	// Note says who moved the head and why, if it is more than a writer that
	// continues elsewhere: for example, lines disappeared from the agent's
	// file. The fold ignores it.
	Note *Notice `json:"note,omitempty"`
}

// A Notice is the body of release, close, delete, undelete, erase, hold and
// unhold, and the first line of a redact: who did it, when by the writer's
// clock, and why.
type Notice struct {
	By    string      `json:"by,omitempty"`
	Host  string      `json:"host,omitempty"`
	Time  time.Time   `json:"time,omitzero"`
	Why   string      `json:"why,omitempty"`
	Usage *item.Usage `json:"usage,omitempty"`
}

// OpenBody returns the body of an open record.
func OpenBody(o Origin, h Header, es []Entry) ([]byte, error) {
	first, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	n := len(first) + 1 + len(h.Line)
	for i := range es {
		n += 1 + len(es[i].Line)
	}
	b := make([]byte, 0, n)
	b = append(b, first...)
	b = append(b, '\n')
	b = append(b, h.Line...)
	for i := range es {
		b = append(b, '\n')
		b = append(b, es[i].Line...)
	}
	return b, nil
}

// LinesBody returns the body of an append or amend record.
func LinesBody(es []Entry) []byte {
	lines := make([][]byte, len(es))
	for i := range es {
		lines[i] = es[i].Line
	}
	return bytes.Join(lines, []byte("\n"))
}

// BodyEntries reads the lines of an append's body by the rules of d. Returns
// ErrCorrupt if a line is not an entry.
func BodyEntries(d Decoder, body []byte) ([]Entry, error) { return readEntries(d, bodyLines(body)) }

// bodyLines splits a body into its lines.
func bodyLines(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Split(b, []byte("\n"))
}

func readBody(r *Record, v any) error {
	if err := json.Unmarshal(r.Body, v); err != nil {
		return fmt.Errorf("body of %s record %d is not what it should be: %v: %w", r.Kind, r.Seq, err, ErrCorrupt)
	}
	return nil
}
