package usage

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"

	"github.com/sesslog/sesslog/core"
)

// Prices are a list of prices of models. Models are found by their names without
// a provider before them and a date after them.
type Prices struct {
	Date     string           `json:"date"`     // the day on which they were true, such as "2026-11-05"
	Currency string           `json:"currency"` // such as "USD"
	Sources  []string         `json:"sources,omitempty"`
	Models   map[string]Price `json:"models"`
}

// A Price is what a million tokens cost. A price of the cache that is missing is
// that of input; without one for an hour, that of CacheWrite.
type Price struct {
	Input          float64  `json:"input"`
	Output         float64  `json:"output"`
	CacheRead      *float64 `json:"cacheRead,omitempty"`
	CacheWrite     *float64 `json:"cacheWrite,omitempty"`
	CacheWriteHour *float64 `json:"cacheWriteHour,omitempty"`
}

//go:embed prices.json
var listed []byte

// Listed returns the prices that the program comes with: those that providers
// published on the day that prices.json names, with its sources. They are those
// of the standard tier for requests of usual length; what a plan, a batch or a
// very long request costs differs.
var Listed = sync.OnceValue(func() Prices {
	p, err := ReadPrices(listed)
	if err != nil {
		panic(err)
	}
	return p
})

// maxPrice bounds a price of a million tokens.
const maxPrice = 1e9

// ReadPrices reads a list of prices as JSON. Returns core.ErrInvalid if it is
// not one, has an unknown member, or a price below 0 or above 10⁹.
func ReadPrices(data []byte) (Prices, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	var p Prices
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("list of prices: %v: %w", err, core.ErrInvalid)
	}
	named := make(map[string]Price, len(p.Models))
	for model, price := range p.Models {
		for _, v := range []*float64{&price.Input, &price.Output, price.CacheRead, price.CacheWrite, price.CacheWriteHour} {
			if v != nil && !(*v >= 0 && *v <= maxPrice) {
				return p, fmt.Errorf("list of prices: price of %.64q is %v, want 0 to %v: %w", model, *v, maxPrice, core.ErrInvalid)
			}
		}
		named[plainModel(model)] = price
	}
	p.Models = named
	return p, nil
}

// With returns p with the prices of more, which replace those of p: all of them if more
// is in another currency. The date is that of more.
func (p Prices) With(more Prices) Prices {
	if more.Currency != "" && !strings.EqualFold(more.Currency, p.Currency) {
		return more
	}
	models := maps.Clone(p.Models)
	maps.Copy(models, more.Models)
	p.Models = models
	if more.Date != "" {
		p.Date = more.Date
	}
	p.Sources = append(p.Sources[:len(p.Sources):len(p.Sources)], more.Sources...)
	return p
}

// Of returns the price of a model, and whether it is listed.
func (p Prices) Of(model string) (Price, bool) {
	price, ok := p.Models[plainModel(model)]
	return price, ok
}

// plainModel returns the name of a model in the form that lists have: in lower
// case, without provider, variant in brackets and date, with "-" for ".".
func plainModel(model string) string {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	model, _, _ = strings.Cut(model, "[")
	model = strings.ReplaceAll(model, ".", "-")
	n := len(model) - len("-20260102")
	if n > 0 && (model[n] == '-' || model[n] == '@') && isDate(model[n+1:]) {
		model = model[:n]
	}
	return model
}

func isDate(s string) bool {
	return s[0] == '2' && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// Cost returns what t costs.
func (p Price) Cost(t Tokens) float64 {
	read, write := or(p.CacheRead, p.Input), or(p.CacheWrite, p.Input)
	hour := min(max(t.CacheWriteHour, 0), t.CacheWrite)
	sum := float64(t.Input)*p.Input + float64(t.Output)*p.Output + float64(t.CacheRead)*read +
		float64(t.CacheWrite-hour)*write + float64(hour)*or(p.CacheWriteHour, write)
	return sum / 1e6
}

func or(v *float64, other float64) float64 {
	if v == nil {
		return other
	}
	return *v
}

// Estimate sets the estimates of r by the prices p.
func (p Prices) Estimate(r *Report) {
	r.Prices, r.Currency = p.Date, p.Currency
	p.estimate(&r.Part)
	p.estimate(&r.Inherited)
	for i := range r.Heads {
		p.estimate(&r.Heads[i].Part)
	}
	for i := range r.Agents {
		p.estimate(&r.Agents[i].Part)
	}
}

func (p Prices) estimate(part *Part) {
	part.Estimate, part.Unpriced = 0, false
	for i := range part.Models {
		m := &part.Models[i]
		m.Estimate, m.Unpriced = 0, false
		if m.WithoutCost == (Tokens{}) {
			continue
		}
		price, ok := p.Of(m.Model)
		m.Unpriced = !ok
		if ok {
			m.Estimate = math.Round(price.Cost(m.WithoutCost)*1e9) / 1e9
		}
		part.Estimate += m.Estimate
		part.Unpriced = part.Unpriced || m.Unpriced
	}
}
