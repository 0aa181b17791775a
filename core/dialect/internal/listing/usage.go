package listing

import (
	"math"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/usage"
)

// UsageNames are the members in which an agent reports the usage of an answer.
// All report its cost in the total of a member called cost.
type UsageNames struct{ Input, Output, CacheRead, CacheWrite string }

// maxCost and maxCount bound what counts as a cost and as a number of tokens.
// Beyond maxCost a sum could become infinite.
const (
	maxCost  = 1e15
	maxCount = 1 << 53
)

// Use returns the usage that v, of an answer by model, reports. ok is false if v
// is not an object. A value that is not a number, or is out of range, counts as 0.
func (n *UsageNames) Use(model string, v jsjson.Value) (u usage.Use, ok bool) {
	o, ok := jsonl.Nested(v)
	if !ok {
		return u, false
	}
	u.Model = model
	u.Input, u.Output = Count(o.Get(n.Input)), Count(o.Get(n.Output))
	u.CacheRead, u.CacheWrite = Count(o.Get(n.CacheRead)), Count(o.Get(n.CacheWrite))
	if cost, ok := jsonl.Nested(o.Get("cost")); ok {
		if n, ok := Cost(cost.Get("total")); ok {
			u.Cost, u.HasCost = n, true
		}
	}
	return u, true
}

// ModelName returns the name of a model as reports of usage have it.
func ModelName(provider, model string) string {
	if provider == "" || model == "" {
		return model
	}
	return provider + "/" + model
}

// Cost returns v as a cost. ok is false if v is not a number in that range.
func Cost(v jsjson.Value) (n float64, ok bool) {
	f, ok := v.Number()
	return f, ok && math.Abs(f) <= maxCost
}

// Count returns v as a number of tokens, or 0 if it is not a number in that
// range.
func Count(v jsjson.Value) int64 {
	f, ok := v.Number()
	if !ok || math.Abs(f) > maxCount {
		return 0
	}
	return int64(f)
}

// first is how many characters of a text a listing shows.
const first = 200

// First returns the part of s that a listing shows.
func First(s string) string {
	n := first
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
