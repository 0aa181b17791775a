package openrath

import (
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Usage is what a session has cost so far, in tokens.
type Usage struct {
	Prompt, Completion, Total int64
}

// AddUsage sums the usage of two sessions. Nil is an unknown usage: if one is
// nil, the sum is the other.
func AddUsage(a, b *Usage) *Usage {
	if a == nil && b == nil {
		return nil
	}
	sum := Usage{}
	for _, u := range []*Usage{a, b} {
		if u != nil {
			sum.Prompt += u.Prompt
			sum.Completion += u.Completion
			sum.Total += u.Total
		}
	}
	return &sum
}

// readUsage reads cumulative_usage; a count that is missing is 0.
func readUsage(v jsjson.Value) *Usage {
	o, ok := jsonl.Nested(v)
	if !ok {
		return nil
	}
	return &Usage{listing.Count(o.Get("prompt_tokens")), listing.Count(o.Get("completion_tokens")), listing.Count(o.Get("total_tokens"))}
}

// text is u as OpenRath writes it.
func (u *Usage) text() []byte {
	if u == nil {
		return null
	}
	b := append([]byte(`{"prompt_tokens": `), jsonOf(u.Prompt)...)
	b = appendMember(b, "completion_tokens", jsonOf(u.Completion))
	return append(appendMember(b, "total_tokens", jsonOf(u.Total)), '}')
}
