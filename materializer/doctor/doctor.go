package doctor

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/verify"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/stream"
)

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
	// Err returns why the rows lack changes, or nil.
	Err() error
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
func (d *Doctor) Examine(ctx context.Context) (*report.Examination, error) {
	r, _, err := d.examine(ctx)
	return r, err
}

// examine is Examine, and returns the findings with what repairs them, in the order
// of the report.
func (d *Doctor) examine(ctx context.Context) (*report.Examination, []treatable, error) {
	var found []treatable
	r := &report.Examination{Log: d.Log.Name(), Node: d.Node.Name, Checks: []report.Check{}, Findings: []report.Finding{}}
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
		{"corruption", d.corrupt},
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
			return nil, nil, fmt.Errorf("examination ended at %s: %w: %w", c.name, ctx.Err(), core.ErrUnavailable)
		}
		if err != nil {
			seen = "not looked at"
			f.add(report.Warning, c.name, "the check failed: "+err.Error(), "try again after the other problems are repaired")
		}
		r.Checks = append(r.Checks, report.Check{Name: c.name, Seen: seen})
		found = append(found, f.all()...)
	}
	slices.SortStableFunc(found, func(a, b treatable) int { return b.Level.Compare(a.Level) })
	for i := range found {
		r.Findings = append(r.Findings, found[i].Finding)
	}
	return r, found, nil
}

// Treat examines, repairs what is safe to repair, and marks the findings that it
// repaired.
func (d *Doctor) Treat(ctx context.Context) (*report.Examination, error) {
	r, found, err := d.examine(ctx)
	if err != nil {
		return nil, err
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		treat := found[i].treat
		if treat == nil {
			continue
		}
		if err := treat(ctx); err != nil {
			f.Detail += "; the repair failed: " + err.Error()
			continue
		}
		f.Repaired = true
	}
	return r, nil
}

// A finder collects the findings of one check.
type finder struct {
	check string
	found []treatable
	more  int
}

func (f *finder) add(level report.Level, what, detail, next string) {
	f.addTreatable(level, what, detail, next, nil)
}

func (f *finder) addTreatable(level report.Level, what, detail, next string, treat func(context.Context) error) {
	if len(f.found) == mostFindings {
		f.more++
		return
	}
	f.found = append(f.found, treatable{report.Finding{Check: f.check, Level: level, What: what, Detail: detail, Next: next}, treat})
}

func (f *finder) all() []treatable {
	if f.more == 0 {
		return f.found
	}
	return append(f.found, treatable{Finding: report.Finding{Check: f.check, Level: f.found[0].Level, What: f.check, Detail: fmt.Sprintf("and %d more", f.more)}})
}
