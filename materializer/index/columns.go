package index

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// columns are the values by which a row is found and ordered.
type columns struct {
	id, agentID, dialect, cwd string
	name, heading             string
	created, modified         int64
	changed                   int64
	cost                      float64
	claims                    string
	row                       string // the whole row, as JSON
}

func columnsOf(v *materializer.View) (columns, error) {
	r := v.Row
	if math.IsNaN(r.Usage.Cost) || math.IsInf(r.Usage.Cost, 0) {
		r.Usage.Cost = 0 // JSON cannot represent it
	}
	b, err := json.Marshal(r)
	if err != nil {
		return columns{}, err
	}
	c := columns{
		id: string(r.ID), agentID: clean(r.AgentID), dialect: clean(r.Dialect), cwd: clean(r.CWD),
		name: folded(r.Name), cost: r.Usage.Cost, row: string(b),
	}
	c.heading = c.name + fieldSep + folded(r.First)
	c.created, _ = millis(r.Created)
	c.modified = c.created
	if ms, ok := millis(r.Modified); ok {
		c.modified = ms
	}
	c.changed = c.modified
	if ms, ok := millis(r.Changed); ok {
		c.changed = ms
	}
	claims, err := json.Marshal(v.Claims)
	c.claims = string(claims)
	return c, err
}

// fieldSep separates a name from a first message. No text contains it.
const fieldSep = "\x1f"

// folded returns s in the form in which names and first messages are compared.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToLower(clean(s)))
}

// Marks are attributes that a session can have several of. The first letter is the
// kind.
const (
	tagMark    = "t"
	labelMark  = "l"
	holderMark = "h"
)

// marksOf returns the marks of a row, sorted and without duplicates.
func marksOf(v *materializer.View, labels map[string]string) []string {
	var ms []string
	for _, tag := range v.Row.Tags {
		ms = append(ms, mark(tagMark, tag))
	}
	for _, label := range labels {
		ms = append(ms, mark(labelMark, label))
	}
	for _, c := range v.Claims {
		for _, who := range []string{c.Agent, c.Host, c.By, c.Writer} {
			if who != "" {
				ms = append(ms, mark(holderMark, who))
			}
		}
	}
	slices.Sort(ms)
	return slices.Compact(ms)
}

// mark returns s as a mark of this kind.
func mark(kind, s string) string { return kind + clean(materializer.Clip(s)) }

// maxLabels limits how many labels of a session can be found.
const maxLabels = 256

// relabel returns labels, by entry, after one was set or cleared.
func relabel(labels map[string]string, target, label string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	target = clipID(target)
	switch _, there := labels[target]; {
	case label == "":
		delete(labels, target)
	case there || len(labels) < maxLabels:
		labels[target] = materializer.Clip(label)
	}
	return labels
}

// millis parses a time in ISO 8601. A time without a zone is UTC.
func millis(s string) (int64, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}

// A holder is a row of the table holders.
type holder struct {
	head, writer string
	since        int64
}

func holdersOf(claims map[string]core.Claim) []holder {
	var hs []holder
	for head, c := range claims {
		hs = append(hs, holder{clean(head), clean(c.Writer), c.Since.UnixMilli()})
	}
	return hs
}
