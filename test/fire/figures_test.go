package fire_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// Figures are the statistics of a run, printed as a table and as a line of JSON.
type figures struct {
	Name       string         `json:"name"`
	Seed       uint64         `json:"seed"`
	Nodes      int            `json:"nodes"`
	Seconds    float64        `json:"seconds"`
	Sessions   int            `json:"sessions"` // checked for linearizability
	Operations int            `json:"operations"`
	Results    map[string]int `json:"results"` // of the operations on those sessions
	Retried    int            `json:"retried"` // appends that were sent again
	Acked      int            `json:"acknowledged"`
	Lost       int            `json:"lost"`
	Duplicated int            `json:"duplicated"`
	Reordered  int            `json:"reordered"`
	Dangling   int            `json:"dangling"`
	Halved     int            `json:"halved"`
	Trespassed int            `json:"trespassed"` // records of writers on a head that was not theirs
	Gaps       int            `json:"gaps"`
	Differing  int            `json:"differing"`
	Illegal    int            `json:"notLinearizable"`
	Undecided  int            `json:"undecided"`
	MayBeOld   int            `json:"mayBeOld"` // answers that a server without a quorum may have given: true at some earlier time
	Reads      int            `json:"reads"`    // of the pulses' sessions
	Old        int            `json:"oldReads"` // of these, the ones from a server without a quorum
	Faults     []kindFigures  `json:"faults"`
}

// KindFigures are the statistics of one kind of fault. Simultaneous faults are a separate
// kind.
type kindFigures struct {
	Kind     string  `json:"kind"`
	Times    int     `json:"times"`
	Gap      float64 `json:"longestGapSeconds"` // longest time of a writer without an answer
	Recovery float64 `json:"recoverySeconds"`   // the longest, from its end to an answer for every writer
}

// add counts the violations in a session, and fails the test for them.
func (f *figures) add(t *testing.T, id string, d damage) {
	t.Helper()
	f.Acked += d.acked
	f.Lost += d.lost
	f.Duplicated += d.duplicated
	f.Reordered += d.reordered
	f.Dangling += d.dangling
	f.Halved += d.halved
	f.Trespassed += d.trespassed
	f.Gaps += d.gaps
	f.Differing += d.differing
	if len(d.notes) > 0 {
		t.Errorf("session %s:\n%s", id, strings.Join(d.notes[:min(len(d.notes), 20)], "\n"))
	}
}

// count counts an operation.
func (f *figures) count(o op) {
	if f.Results == nil {
		f.Results = map[string]int{}
	}
	f.Results[o.Result]++
	if o.Tries > 1 {
		f.Retried++
	}
	if o.says() && o.mayBeOld() {
		f.MayBeOld++
	}
}

// measure computes the cost of the faults from the pulses.
func (f *figures) measure(r *run) {
	f.Seconds = seconds(r.history.now())
	kinds := map[string]kindFigures{}
	for i := 0; i < len(r.faults); {
		names := []string{r.faults[i].kind}
		first, last := r.faults[i], r.faults[i]
		for i++; i < len(r.faults) && r.faults[i].begin < last.end; i++ {
			last = r.faults[i]
			names = append(names, last.kind)
		}
		kind := strings.Join(names, " + ")
		k := kinds[kind]
		k.Kind = kind
		k.Times++
		for _, p := range r.pulses {
			k.Gap = max(k.Gap, seconds(p.gap(first.begin, last.recovered)))
			k.Recovery = max(k.Recovery, seconds(p.after(last.end)-last.end))
		}
		kinds[kind] = k
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		f.Faults = append(f.Faults, kinds[kind])
	}
}

func seconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Millisecond)/(10*time.Millisecond)) / 100
}

// print writes the figures to the standard output, first as a table.
func (f *figures) print(t *testing.T) {
	t.Helper()
	var b strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&b, "  %-34s %v\n", name, value) }
	fmt.Fprintf(&b, "%s, seed %d, %d nodes, %.0f s\n", f.Name, f.Seed, f.Nodes, f.Seconds)
	row("operations", f.Operations)
	row("sessions checked as histories", f.Sessions)
	row("appends sent again", f.Retried)
	row("entries acknowledged", f.Acked)
	row("lost", f.Lost)
	row("duplicated", f.Duplicated)
	row("reordered", f.Reordered)
	row("dangling", f.Dangling)
	row("appends of which a part is there", f.Halved)
	row("records by a writer that was fenced", f.Trespassed)
	row("nodes with other bytes", f.Differing)
	row("histories not linearizable", f.Illegal)
	row("histories undecided", f.Undecided)
	row("reads beside the writers", f.Reads)
	row("of them old, by a cut-off server", f.Old)
	fmt.Fprintf(&b, "  %-34s %5s %12s %9s\n", "fault", "times", "longest gap", "recovery")
	for _, k := range f.Faults {
		fmt.Fprintf(&b, "  %-34s %5d %10.2f s %7.2f s\n", k.Kind, k.Times, k.Gap, k.Recovery)
	}
	line, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%sfire: %s\n", b.String(), line)
}
