package doctor

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/verify"
	"github.com/sesslog/sesslog/stream"
)

// A Level says how bad a finding is.
type Level string

// The levels, the worst last.
const (
	Note    Level = "note"    // nothing is wrong; something could be cheaper or safer
	Warning Level = "warning" // something does not work as it should, or will soon not
	Danger  Level = "danger"  // what is acknowledged may be lost, or work is refused
)

// A Finding is one thing that is not as it should be.
type Finding struct {
	Check  string `json:"check"`
	Level  Level  `json:"level"`
	What   string `json:"what"`   // the thing: a stream, a session, a setting
	Detail string `json:"detail"` // what is wrong with it
	Next   string `json:"next,omitempty"`
	Mended bool   `json:"mended,omitempty"` // by Treat

	treat func(context.Context) error // nil where nothing is safe to do
}

// A Report is what was looked at, and what was found.
type Report struct {
	Log      string    `json:"log"`
	Node     string    `json:"node"`
	Checks   []Check   `json:"checks"`   // what was looked at, in order
	Findings []Finding `json:"findings"` // the worst first
}

// A Check is one thing that was looked at.
type Check struct {
	Name string `json:"name"`
	Seen string `json:"seen"` // in a few words
}

// Worst returns the worst level that is not mended, "" where there is none.
func (r *Report) Worst() Level {
	var worst Level
	for _, f := range r.Findings {
		if !f.Mended && rank(f.Level) > rank(worst) {
			worst = f.Level
		}
	}
	return worst
}

func rank(l Level) int { return slices.Index([]Level{"", Note, Warning, Danger}, l) }

// A Node is what only the node's own process knows.
type Node struct {
	Name string
	// Sync is how long the node's own server may wait before it flushes what it
	// acknowledged; 0 for not at all. nil where the server is somebody else's.
	Sync *time.Duration
	// Dir is where the node keeps its data, and Disk how much of it is free; not
	// ok where that cannot be told.
	Dir  string
	Disk func() (free, size int64, ok bool)
	// Ready and Store say why the node, and its object store, cannot serve, or
	// nil.
	Ready func(context.Context) error
	Store func(context.Context) error
}

// Directory is the rows that a Doctor compares with the log. index.Index implements
// it.
type Directory interface {
	// Seq returns the seq of a session's row, 0 if there is none.
	Seq(id core.SessionID) uint64
	// Rows yields the row of every session. An error is yielded once, last.
	Rows(ctx context.Context) iter.Seq2[materializer.Row, error]
}

// A Doctor examines one log through one node.
type Doctor struct {
	Log          *stream.Log
	Sessions     *engine.Sessions
	Materializer *materializer.Materializer
	Directory    Directory
	Bucket       blobstore.Bucket
	Verifier     *verify.Verifier
	Blobs        *blobstore.Blobs // in Bucket
	Audit        *stream.Audit    // nil where the node keeps none
	Presence     *stream.Presence // nil where the node keeps none
	Node         Node
}

// mostFindings bounds how many findings a check names one by one.
const mostFindings = 100

// Examine looks at everything and changes nothing. It ends early only with ctx.
func (d *Doctor) Examine(ctx context.Context) (*Report, error) {
	r := &Report{Log: d.Log.Name(), Node: d.Node.Name, Checks: []Check{}, Findings: []Finding{}}
	held := holdings{}
	for _, c := range []struct {
		name string
		look func(context.Context, *finder) (seen string, err error)
	}{
		{"node", d.node},
		{"durability", d.durability},
		{"streams", d.streams},
		{"lag", d.lag},
		{"losses", d.losses},
		{"disk", d.disk},
		{"clock", d.clock},
		{"store", d.store},
		{"blobs", d.blobs},
		{"audit", d.audit},
		{"listing", func(ctx context.Context, f *finder) (string, error) { return d.listing(ctx, f, held) }},
		{"snapshots", func(ctx context.Context, f *finder) (string, error) { return d.snapshots(ctx, f, held) }},
	} {
		f := &finder{check: c.name}
		seen, err := c.look(ctx, f)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("examination given up at %s: %w: %w", c.name, ctx.Err(), core.ErrUnavailable)
		}
		if err != nil {
			seen = "not looked at"
			f.add(Warning, c.name, "cannot be looked at: "+err.Error(), "try again once the rest is mended")
		}
		r.Checks = append(r.Checks, Check{c.name, seen})
		r.Findings = append(r.Findings, f.all()...)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return rank(b.Level) - rank(a.Level) })
	return r, nil
}

// Treat examines, mends what is safe to mend, and says of each finding whether it
// is mended.
func (d *Doctor) Treat(ctx context.Context) (*Report, error) {
	r, err := d.Examine(ctx)
	if err != nil {
		return nil, err
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.treat == nil {
			continue
		}
		if err := f.treat(ctx); err != nil {
			f.Detail += "; it could not be mended: " + err.Error()
			continue
		}
		f.Mended = true
	}
	return r, nil
}

// A finder gathers what one check finds.
type finder struct {
	check string
	found []Finding
	more  int
}

func (f *finder) add(level Level, what, detail, next string) {
	f.addTreatable(level, what, detail, next, nil)
}

func (f *finder) addTreatable(level Level, what, detail, next string, treat func(context.Context) error) {
	if len(f.found) == mostFindings {
		f.more++
		return
	}
	f.found = append(f.found, Finding{Check: f.check, Level: level, What: what, Detail: detail, Next: next, treat: treat})
}

func (f *finder) all() []Finding {
	if f.more == 0 {
		return f.found
	}
	return append(f.found, Finding{Check: f.check, Level: f.found[0].Level, What: f.check, Detail: fmt.Sprintf("and %d more", f.more)})
}
