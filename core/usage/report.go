package usage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// A Report is what a session used. Its Part is the whole session: all branches
// and sub-agents, and what it inherited.
type Report struct {
	Part
	// Inherited is the part that was used in the sessions from which this one
	// came. To add sessions up, take it off.
	Inherited Part `json:"inherited"`
	// Heads are the paths from the root to each head, without sub-agents.
	Heads []Named `json:"heads,omitempty"`
	// Agents are the sub-agents whose lines are in the session.
	Agents []Named `json:"agents,omitempty"`
	// Prices is the date of the prices of estimates; empty before Estimate.
	Prices string `json:"prices,omitempty"`
	// Currency is the currency of estimates; empty before Estimate.
	Currency string `json:"currency,omitempty"`
}

// A Named is the part of one head, or of one sub-agent.
type Named struct {
	Name string `json:"name"`
	Part
}

// A Part is a sum, and how it divides among models, by name.
type Part struct {
	Sum
	Models []Model `json:"models"`
}

// A Model is what one model used.
type Model struct {
	Model string `json:"model"` // "provider/model", or the model alone; empty if unknown
	Sum
}

// A Sum adds up answers.
type Sum struct {
	Answers int64 `json:"answers"` // that were reported one by one
	item.Usage
	// WithoutCost are the tokens of answers for which the agent wrote no cost.
	WithoutCost Tokens `json:"withoutCost,omitzero"`
	// Estimate is what WithoutCost costs by a list of prices, in its currency.
	Estimate float64 `json:"estimate,omitempty"`
	// Unpriced says that Estimate is too low: a model is not in the list.
	Unpriced bool `json:"unpriced,omitempty"`
}

// A Head is a named path of entries.
type Head struct {
	Name string
	Path []core.Entry
}

// Report returns the usage of the entries read so far. inherited, if it is not
// nil, tells which entries a parent of the session has, too.
func (f *Fold) Report(heads []Head, inherited func(entry string) bool) Report {
	var all, taken parts
	agents := map[string]*parts{}
	shared := f.sharedBy(inherited)
	for i := range f.uses {
		u := &f.uses[i]
		all.add(u)
		if u.Inherited || shared[i] {
			taken.add(u)
		}
		if u.Agent != "" {
			if agents[u.Agent] == nil {
				agents[u.Agent] = &parts{}
			}
			agents[u.Agent].add(u)
		}
	}
	r := Report{Part: all.part(), Inherited: taken.part()}
	for _, h := range heads {
		r.Heads = append(r.Heads, Named{h.Name, f.Path(h.Path)})
	}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		r.Agents = append(r.Agents, Named{name, agents[name].part()})
	}
	return r
}

func (f *Fold) sharedBy(inherited func(string) bool) map[int]bool {
	shared := map[int]bool{}
	if inherited == nil {
		return shared
	}
	for _, r := range f.reports {
		if !shared[r.use] && inherited(r.entry) {
			shared[r.use] = true
		}
	}
	return shared
}

// Path returns the usage of the session's own agent on a path of entries.
func (f *Fold) Path(path []core.Entry) Part {
	on := make(map[string]bool, len(path))
	for i := range path {
		on[path[i].ID] = true
	}
	counted := make([]bool, len(f.uses))
	for _, r := range f.reports {
		counted[r.use] = counted[r.use] || on[r.entry]
	}
	var sum parts
	for i := range f.uses {
		if u := &f.uses[i]; u.Agent == "" && (u.Total || counted[i]) {
			sum.add(u)
		}
	}
	return sum.part()
}

// parts is a Part in the making.
type parts struct {
	sum    Sum
	models map[string]*Sum
}

func (p *parts) add(u *Use) {
	if p.models == nil {
		p.models = map[string]*Sum{}
	}
	if p.models[u.Model] == nil {
		p.models[u.Model] = &Sum{}
	}
	p.sum.add(u)
	p.models[u.Model].add(u)
}

func (s *Sum) add(u *Use) {
	if !u.Total {
		s.Answers++
	}
	u.AddTo(&s.Usage)
	if !u.HasCost {
		s.WithoutCost.add(u.Tokens, 1)
	}
}

func (p *parts) part() Part {
	models := make([]Model, 0, len(p.models))
	for name, sum := range p.models {
		models = append(models, Model{name, *sum})
	}
	slices.SortFunc(models, func(a, b Model) int { return cmp.Compare(a.Model, b.Model) })
	return Part{p.sum, models}
}
