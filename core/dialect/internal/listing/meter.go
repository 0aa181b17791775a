package listing

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/usage"
)

var usageNames = UsageNames{"input", "output", "cacheRead", "cacheWrite"}

// A Meter reads the usage of assistant messages, and of the entries of one more
// type. Each entry reports one answer.
type Meter struct{ usageType string }

// NewMeter returns a Meter. Entries of type usageType report usage; it is empty
// if there is no such type.
func NewMeter(usageType string) Meter { return Meter{usageType} }

// Read implements usage.Meter.
func (m Meter) Read(e core.Entry) []usage.Use {
	if e.Type != "message" && (e.Type == "" || e.Type != m.usageType) {
		return nil
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return nil
	}
	if e.Type == m.usageType {
		return usesOf(&o)
	}
	answer, ok := jsonl.Nested(o.Get("message"))
	if !ok || !answer.Get("role").Is("assistant") {
		return nil
	}
	return usesOf(&answer)
}

// usesOf returns what an object with provider, model and usage reports.
func usesOf(answer *jsjson.Object) []usage.Use {
	provider, _ := answer.Get("provider").Text()
	model, _ := answer.Get("model").Text()
	u, ok := usageNames.Use(ModelName(provider, model), answer.Get("usage"))
	if !ok {
		return nil
	}
	return []usage.Use{u}
}
