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
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/stream"
)

// A Level is how serious a finding is.
type Level string

// The levels, the most serious last.
const (
	Note    Level = "note"    // nothing is wrong; something could be cheaper or safer
	Warning Level = "warning" // something does not work as it should, or soon will not
	Danger  Level = "danger"  // acknowledged data may be lost, or work is refused
)

// A Finding is one thing that is wrong.
type Finding struct {
	Check  string `json:"check"`
	Level  Level  `json:"level"`
	What   string `json:"what"`   // a stream, a session, a setting
	Detail string `json:"detail"` // what is wrong with it
	Next   string `json:"next,omitempty"`
	Mended bool   `json:"mended,omitempty"` // by Treat

	treat func(context.Context) error // nil if nothing is safe to do
}

// A Report is what was checked, and what was found.
type Report struct {
	Log      string    `json:"log"`
	Node     string    `json:"node"`
	Checks   []Check   `json:"checks"`   // in order
	Findings []Finding `json:"findings"` // the most serious first
}

// A Check is one subject that was checked.
type Check struct {
	Name string `json:"name"`
	Seen string `json:"seen"` // in a few words
}

// Worst returns the most serious level that is not repaired, "" if there is none.
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
	// acknowledged; 0 if it flushes first. nil if the server is external.
	Sync *time.Duration
	// Dir is the node's data directory. Disk returns how much of its disk is free;
	// ok is false if that is unknown.
	Dir  string
	Disk func() (free, size int64, ok bool)
	// Ready and Store return why the node, and its object store, cannot serve, or
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
	Rows(ctx context.Context) iter.Seq2[catalog.Row, error]
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
	Audit        *stream.Audit    // nil if the node has none
	Presence     *stream.Presence // nil if the node has none
	Node         Node
}

// mostFindings limits the findings that a check lists.
const mostFindings = 100

// Examine checks everything and changes nothing. It fails only if ctx ends.
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
			return nil, fmt.Errorf("examination ended at %s: %w: %w", c.name, ctx.Err(), core.ErrUnavailable)
		}
		if err != nil {
			seen = "not looked at"
			f.add(Warning, c.name, "the check failed: "+err.Error(), "try again after the other problems are repaired")
		}
		r.Checks = append(r.Checks, Check{c.name, seen})
		r.Findings = append(r.Findings, f.all()...)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return rank(b.Level) - rank(a.Level) })
	return r, nil
}

// Treat examines, repairs what is safe to repair, and marks the findings that it
// repaired.
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

// A finder collects the findings of one check.
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
