package usage

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// A Fold is the usage of a session so far. The zero Fold is that of a session
// whose entries its owner reads, and gives to Note. It is not safe for concurrent
// use.
type Fold struct {
	meter   Meter
	uses    []Use
	answers map[answerKey]int // the index in uses of each answer
	reports []report
	own     item.Usage
}

// An answerKey identifies an answer by its name or, without one, by the entry that
// reports it. The zero answerKey identifies none.
type answerKey struct{ answer, entry string }

// A report says that the entry with this id reported uses[use].
type report struct {
	entry string
	use   int
}

// NewFold returns the Fold of a session with header h before its first entry. If
// d is no Reporter, every sum is zero.
func NewFold(d core.Dialect, h core.Header) *Fold {
	f := &Fold{}
	if r, ok := d.(Reporter); ok {
		var uses []Use
		f.meter, uses = r.Meter(h)
		f.Note("", uses...)
	}
	return f
}

// Add reads the next entries of the session.
func (f *Fold) Add(es ...core.Entry) {
	if f.meter == nil {
		return
	}
	for i := range es {
		id := es[i].ID
		if es[i].Aside {
			id = "" // it is on no path
		}
		f.Note(id, f.meter.Read(es[i])...)
	}
}

// Note adds what the entry with the id entry reports. The id is empty if the
// entry is on no path. A use without a name that equals the last one of an entry with
// that id is a repeated line, and counts once.
func (f *Fold) Note(entry string, uses ...Use) {
	for i, u := range uses {
		key := answerKey{answer: u.Answer}
		if u.Answer == "" && i == 0 {
			key.entry = entry
		}
		at, known := f.answers[key]
		switch {
		case known && u.Answer != "":
			f.replace(at, u)
		case known && f.uses[at] == u:
		default:
			at = f.add(key, u)
		}
		if entry != "" {
			f.reports = append(f.reports, report{entry, at})
		}
	}
}

// add adds a use, and returns its index.
func (f *Fold) add(key answerKey, u Use) int {
	at := len(f.uses)
	f.uses = append(f.uses, u)
	f.count(&u, 1)
	if key == (answerKey{}) {
		return at
	}
	if f.answers == nil {
		f.answers = map[answerKey]int{}
	}
	f.answers[key] = at
	return at
}

// replace makes u the report of the answer at index at.
func (f *Fold) replace(at int, u Use) {
	old := &f.uses[at]
	f.count(old, -1)
	old.Tokens, old.Cost, old.HasCost = u.Tokens, u.Cost, u.HasCost
	f.count(old, 1)
}

func (f *Fold) count(u *Use, sign int64) {
	if !u.Inherited {
		u.addTo(&f.own, sign)
	}
}

// Size is roughly how many bytes of memory f takes.
func (f *Fold) Size() int64 {
	const use, report, answer = 256, 48, 64
	return int64(len(f.uses)*use + len(f.reports)*report + len(f.answers)*answer)
}

// Own is the usage of all branches and sub-agents, without what is known to be
// inherited. It is the usage in the session's Summary.
func (f *Fold) Own() item.Usage { return f.own }
