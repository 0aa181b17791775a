package operator

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/listing"
	"github.com/sesslog/sesslog/core/usage"
)

var usageNames = listing.UsageNames{
	Input: "input_tokens", Output: "output_tokens",
	CacheRead: "cache_read_tokens", CacheWrite: "cache_write_tokens",
}

// Meter implements usage.Reporter. A message does not name the model that
// answered: it is that of the last model_change before it on its path.
func (Dialect) Meter(core.Header) (usage.Meter, []usage.Use) {
	return &meter{models: map[string]string{}}, nil
}

type meter struct {
	models map[string]string // by entry, on its path; entries without a model are missing
}

// Read implements usage.Meter.
func (m *meter) Read(e core.Entry) []usage.Use {
	o, err := read(e)
	if err != nil {
		return nil
	}
	model := m.models[e.Parent]
	if e.Type == typeModel {
		model = listing.ModelName(text(&o, "provider_id"), text(&o, "model_id"))
	}
	if model != "" && e.ID != "" {
		m.models[e.ID] = model
	}
	if e.Type != typeMessage {
		return nil
	}
	answer, ok := jsonl.Nested(o.Get("message"))
	if !ok || !answer.Get("role").Is("assistant") {
		return nil
	}
	u, ok := usageNames.Use(model, answer.Get("usage"))
	if !ok {
		return nil
	}
	return []usage.Use{u}
}
