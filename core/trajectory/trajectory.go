package trajectory

import (
	"cmp"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// A Trajectory is one path of a session, in steps.
type Trajectory struct {
	Agent   string // the dialect
	Session string // the agent's own id of the session
	Name    string
	CWD     string
	Steps   []Step
}

// A Step is what was said at once: by the user, by a model, or to a model by the system.
type Step struct {
	Role   item.Role // RoleUser, RoleAssistant or RoleSystem
	Kind   item.Kind // Message; Compaction, Branch or Note of the system
	Time   string    // ISO 8601; empty if unknown
	Blocks []item.Block
	Text   string // the summary of a compaction or a branch
	Kept   bool   // a compaction kept entries before it

	// Of an answer.
	Provider, Model string
	Level           string // the thinking level
	Calls           []Call
	Usage           Usage
	Stop            item.Stop
	Error           string
	// Results belong to no call that is known.
	Results []Result
	// Inherited says that the answer was given in another session.
	Inherited bool
}

// A Call is a call of a tool.
type Call struct {
	item.Block
	Results []Result
}

// A Result is what a call returned.
type Result struct {
	item.Block
	Time string
}

// Usage is what the answers of a step used.
type Usage struct {
	Answers int
	usage.Tokens
	Cost     float64 // as the agent wrote it, if HasCost
	HasCost  bool
	Estimate float64 // by a list of prices, of answers without a cost
}

// Of returns the steps of a path of entries of a session with header h. An estimate is
// made of the prices p for answers without a cost.
func Of(d core.Dialect, h core.Header, path []core.Entry, p usage.Prices) (Trajectory, error) {
	b := builder{
		Trajectory: Trajectory{Agent: d.Name(), Session: h.ID, Name: d.Summary(h, path).Name, CWD: h.CWD},
		prices:     p, calls: map[string]place{}, answers: map[string]*reported{}, agent: -1,
	}
	if n, ok := d.(optional.Narrator); ok {
		its, err := n.ReadAll(h, path, core.Leaf{})
		if err != nil {
			return Trajectory{}, err
		}
		for i := range its {
			b.add(&its[i], own(&its[i]))
		}
		return b.result()
	}
	var meter usage.Meter
	if r, ok := d.(usage.Reporter); ok {
		meter, _ = r.Meter(h)
	}
	for _, e := range path {
		its := d.Read(e)
		var uses []usage.Use
		if meter != nil {
			uses = meter.Read(e)
		}
		for i := range its {
			if its[i].Kind == item.Message && its[i].Role == item.RoleAssistant {
				b.add(&its[i], uses)
				uses = nil
			} else {
				b.add(&its[i], nil)
			}
		}
		b.use(uses)
	}
	return b.result()
}

// own returns the usage that an item has.
func own(it *item.Item) []usage.Use {
	if it.Usage == nil {
		return nil
	}
	u := usage.Use{Model: it.Model, Cost: it.Usage.Cost, HasCost: it.Usage.Cost != 0}
	u.Tokens = usage.Tokens{Input: it.Usage.Input, Output: it.Usage.Output, CacheRead: it.Usage.CacheRead, CacheWrite: it.Usage.CacheWrite}
	return []usage.Use{u}
}

// A builder makes a Trajectory.
type builder struct {
	Trajectory
	prices          usage.Prices
	calls           map[string]place     // by their ids
	answers         map[string]*reported // by their names
	agent           int                  // the last step of an answer, -1 before
	open            bool                 // the next item may be of the same answer: no usage was reported yet
	provider, model string
	level           string
}

// A place is the place of a call.
type place struct{ step, call int }

// reported is the last report of an answer.
type reported struct {
	step int
	use  usage.Use
}

func (b *builder) result() (Trajectory, error) {
	if len(b.Steps) == 0 {
		return Trajectory{}, fmt.Errorf("the session has no messages: %w", core.ErrInvalid)
	}
	return b.Trajectory, nil
}

// add adds what an item says. uses are those of an answer.
func (b *builder) add(it *item.Item, uses []usage.Use) {
	switch it.Kind {
	case item.Model:
		if it.For == "" {
			b.provider, b.model = it.Provider, it.Model
		}
	case item.Level:
		b.level = it.Text
	case item.Compaction, item.Branch:
		b.step(Step{Role: item.RoleSystem, Kind: it.Kind, Time: it.Time, Text: it.Text, Kept: it.Target != ""})
	case item.Note:
		b.step(Step{Role: item.RoleSystem, Kind: it.Kind, Time: it.Time, Blocks: it.Blocks})
	case item.Message:
		b.message(it, uses)
	}
}

func (b *builder) message(it *item.Item, uses []usage.Use) {
	switch it.Role {
	case item.RoleAssistant:
		b.answer(it, uses)
	case item.RoleTool:
		b.open = false
		for _, block := range it.Blocks {
			b.returned(Result{block, it.Time})
		}
	default:
		b.step(Step{Role: it.Role, Kind: it.Kind, Time: it.Time, Blocks: it.Blocks})
	}
}

func (b *builder) step(s Step) {
	b.open = false
	b.Steps = append(b.Steps, s)
}

// answer adds a part of an answer to its step, or a step.
func (b *builder) answer(it *item.Item, uses []usage.Use) {
	silent := len(uses) == 0 && it.Error == ""
	if !b.continues(uses) && !(silent && b.open) {
		b.step(Step{Role: it.Role, Kind: it.Kind, Level: b.level})
		b.agent = len(b.Steps) - 1
	}
	b.open = silent
	s := &b.Steps[b.agent]
	s.Time = max(s.Time, it.Time)
	s.Provider, s.Model = cmp.Or(it.Provider, s.Provider, b.provider), cmp.Or(it.Model, s.Model, b.model)
	s.Stop, s.Error = cmp.Or(it.Stop, s.Stop), cmp.Or(it.Error, s.Error)
	for _, block := range it.Blocks {
		if block.Kind != item.BlockCall {
			s.Blocks = append(s.Blocks, block)
			continue
		}
		if block.ID == "" {
			block.ID = fmt.Sprintf("call-%d-%d", b.agent+1, len(s.Calls)+1)
		}
		b.calls[block.ID] = place{b.agent, len(s.Calls)}
		s.Calls = append(s.Calls, Call{Block: block})
	}
	b.use(uses)
}

// continues reports whether the answer that uses report is that of the last answer's
// step.
func (b *builder) continues(uses []usage.Use) bool {
	for _, u := range uses {
		if r := b.answers[u.Answer]; u.Answer != "" && r != nil && r.step == b.agent {
			return true
		}
	}
	return false
}

// returned adds a result to its call, or else to the last answer.
func (b *builder) returned(r Result) {
	if at, ok := b.calls[r.ID]; ok {
		c := &b.Steps[at.step].Calls[at.call]
		c.Results = append(c.Results, r)
		return
	}
	if b.agent < 0 {
		b.step(Step{Role: item.RoleSystem, Kind: item.Message, Time: r.Time, Results: []Result{r}})
		return
	}
	s := &b.Steps[b.agent]
	s.Results = append(s.Results, r)
}

// use adds usage to the step of its answer. Without a step it is only in the sum of the
// session, as are sub-agents and sums.
func (b *builder) use(uses []usage.Use) {
	for _, u := range uses {
		if u.Agent != "" || u.Total || b.agent < 0 {
			continue
		}
		r := b.answers[u.Answer]
		if r == nil || u.Answer == "" {
			r = &reported{step: b.agent}
			b.answers[u.Answer] = r
			b.Steps[r.step].Usage.Answers++
		} else {
			b.count(r, -1)
		}
		r.use, b.open = u, false
		b.count(r, 1)
		s := &b.Steps[r.step]
		s.Inherited = s.Inherited || u.Inherited
	}
}

func (b *builder) count(r *reported, sign int64) {
	u, of := &b.Steps[r.step].Usage, &r.use
	u.Input += sign * of.Input
	u.Output += sign * of.Output
	u.CacheRead += sign * of.CacheRead
	u.CacheWrite += sign * of.CacheWrite
	u.CacheWriteHour += sign * of.CacheWriteHour
	if of.HasCost {
		u.Cost, u.HasCost = u.Cost+float64(sign)*of.Cost, true
		return
	}
	if price, ok := b.prices.Of(of.Model); ok {
		u.Estimate += float64(sign) * price.Cost(of.Tokens)
	}
}
