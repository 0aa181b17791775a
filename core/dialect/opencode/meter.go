package opencode

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/usage"
)

// Meter implements usage.Reporter. Answers count once, by their ids, also those
// that were removed. Answers older than the session are inherited: a fork copies
// them. A cost of 0 is one that opencode does not know.
func (Dialect) Meter(h core.Header) (usage.Meter, []usage.Use) {
	return meter{beginOf(h)}, nil
}

type meter struct{ begin int64 }

// Read implements usage.Meter.
func (m meter) Read(e core.Entry) (all []usage.Use) {
	switch e.Type {
	case typeMessage:
		all = m.append(all, member(lineOf(e), "data", "info"))
	case typeMessages:
		_ = jsjson.Each(member(lineOf(e), "messages"), func(v jsjson.Value) { all = m.append(all, member(v, "info")) })
	}
	return all
}

func (m meter) append(all []usage.Use, info jsjson.Value) []usage.Use {
	if !member(info, "role").Is("assistant") {
		return all
	}
	created := millis(info, "time", "created")
	u := usage.Use{
		Answer: text(info, "id"), Model: listing.ModelName(text(info, "providerID"), text(info, "modelID")),
		Inherited: created > 0 && created < m.begin, Tokens: tokensOf(info),
	}
	if cost, ok := listing.Cost(member(info, "cost")); ok && cost != 0 {
		u.Cost, u.HasCost = cost, true
	}
	return append(all, u)
}

// tokensOf is what an answer used. opencode counts thoughts apart from the rest
// of an answer.
func tokensOf(info jsjson.Value) usage.Tokens {
	n := func(names ...string) int64 {
		return listing.Count(member(info, append([]string{"tokens"}, names...)...))
	}
	return usage.Tokens{Input: n("input"), Output: n("output") + n("reasoning"), CacheRead: n("cache", "read"), CacheWrite: n("cache", "write")}
}
