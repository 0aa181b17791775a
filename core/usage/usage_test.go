package usage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/usage"
)

// entries reads lines by the rules of a dialect.
func entries(t *testing.T, d core.Dialect, lines ...string) []core.Entry {
	t.Helper()
	es := make([]core.Entry, len(lines))
	for i, line := range lines {
		e, err := d.Entry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		es[i] = e
	}
	return es
}

// answer is a message of pi by a model, with the tokens and the cost n.
func answer(id, parent, model string, n int) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"message":{"role":"assistant","provider":"p","model":%q,"usage":{"input":%d,"output":%d,"cost":{"total":%d}}}}`,
		id, parent, model, n, n, n)
}

// pathTo returns the path to the entry with that id.
func pathTo(t *testing.T, d core.Dialect, es []core.Entry, id string) []core.Entry {
	t.Helper()
	path, err := d.Path(es, core.LeafAt(id))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Files of pi 0.73 can have an entry twice.
func TestRepeatedEntryCountsOnce(t *testing.T) {
	t.Parallel()
	d := dialect.All()["pi"]
	es := entries(t, d, answer("a", "", "claude", 1), answer("a", "", "claude", 1), answer("b", "a", "claude", 2))
	f := usage.NewFold(d, core.Header{})
	f.Add(es...)
	r := f.Report([]usage.Head{{Name: "main", Path: pathTo(t, d, es, "b")}}, nil)
	if r.Answers != 2 || r.Input != 3 || r.Heads[0].Answers != 2 || r.Heads[0].Input != 3 {
		t.Errorf("%+v", r)
	}
}

// Operator does not check whether an id of 8 digits is taken.
func TestAnswersWithOneIDAllCount(t *testing.T) {
	t.Parallel()
	f := usage.NewFold(dialect.All()["pi"], core.Header{})
	f.Add(entries(t, dialect.All()["pi"], answer("a", "", "claude", 1000), answer("a", "", "gpt", 10), answer("a", "", "gpt", 10))...)
	if r := f.Report(nil, nil); r.Answers != 2 || r.Input != 1010 || len(r.Models) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestUsageIsSummedPerBranchAndModel(t *testing.T) {
	t.Parallel()
	d := dialect.All()["pi"]
	es := entries(t, d, answer("a", "", "claude", 1), answer("b", "a", "claude", 2), answer("c", "a", "gpt", 4))
	f := usage.NewFold(d, core.Header{})
	f.Add(es...)
	r := f.Report([]usage.Head{{Name: "main", Path: pathTo(t, d, es, "b")}, {Name: "other", Path: pathTo(t, d, es, "c")}}, func(id string) bool { return id == "a" })
	sum := func(n, answers int64) usage.Sum {
		return usage.Sum{Answers: answers, Usage: item.Usage{Input: n, Output: n, Cost: float64(n)}}
	}
	want := usage.Report{
		Part:      usage.Part{Sum: sum(7, 3), Models: []usage.Model{{"p/claude", sum(3, 2)}, {"p/gpt", sum(4, 1)}}},
		Inherited: usage.Part{Sum: sum(1, 1), Models: []usage.Model{{"p/claude", sum(1, 1)}}},
		Heads: []usage.Named{
			{"main", usage.Part{Sum: sum(3, 2), Models: []usage.Model{{"p/claude", sum(3, 2)}}}},
			{"other", usage.Part{Sum: sum(5, 2), Models: []usage.Model{{"p/claude", sum(1, 1)}, {"p/gpt", sum(4, 1)}}}},
		},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// The lines of an answer of Claude Code share its usage; those of older versions
// reported more and more output.
func TestLinesOfOneAnswerCountOnce(t *testing.T) {
	t.Parallel()
	line := func(uuid, parent, answer, agent string, output int, more string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":%q,"parentUuid":%q,"isSidechain":%t,%s"message":{"id":%q,"role":"assistant","model":"claude-opus-4-8","usage":{"input_tokens":10,"output_tokens":%d,"cache_creation_input_tokens":3,"cache_creation":{"ephemeral_1h_input_tokens":2}}},"requestId":"r","timestamp":"2026-01-02T03:04:05.000Z"%s}`,
			uuid, parent, agent != "", agent, answer, output, more)
	}
	d := dialect.All()["claude"]
	es := entries(t, d,
		line("a", "", "m1", "", 1, ""), line("b", "a", "m1", "", 7, ""), line("c", "a", "m1", "", 2, ""),
		line("s", "", "m2", `"agentId":"helper",`, 5, ""), line("f", "b", "m3", "", 1, `,"forkedFrom":{"sessionId":"x"}`),
	)
	f := usage.NewFold(d, core.Header{})
	f.Add(es...)
	r := f.Report([]usage.Head{{Name: "main", Path: es[:1]}}, nil)
	if r.Answers != 3 || r.Output != 13 || r.CacheWrite != 9 || r.Heads[0].Output != 7 || r.Inherited.Output != 1 || f.Own().Output != 12 {
		t.Errorf("report %+v, own %+v", r, f.Own())
	}
	if len(r.Agents) != 1 || r.Agents[0].Name != "helper" || r.Agents[0].Output != 5 {
		t.Errorf("sub-agents %+v", r.Agents)
	}
	if want := (usage.Tokens{Input: 30, Output: 13, CacheWrite: 9, CacheWriteHour: 6}); r.WithoutCost != want {
		t.Errorf("without a cost are %+v, want %+v", r.WithoutCost, want)
	}
	usage.Listed().Estimate(&r)
	if want := (30*5 + 13*25 + 3*6.25 + 6*10) / 1e6; r.Estimate != want || r.Unpriced || r.Cost != 0 {
		t.Errorf("estimate %v, want %v", r.Estimate, want)
	}
}

func TestOperatorsModelIsThatOfThePath(t *testing.T) {
	t.Parallel()
	d := dialect.All()["operator"]
	say := func(id, parent string) string {
		return fmt.Sprintf(`{"id":%q,"parent_id":%q,"timestamp":1,"type":"message","message":{"role":"assistant","id":"m","timestamp":1,"contents":[],"usage":{"input_tokens":1,"output_tokens":1}}}`, id, parent)
	}
	model := func(id, parent, model string) string {
		return fmt.Sprintf(`{"id":%q,"parent_id":%q,"timestamp":1,"type":"model_change","provider_id":"p","model_id":%q}`, id, parent, model)
	}
	es := entries(t, d, model("a", "", "one"), say("b", "a"), model("c", "b", "two"), say("d", "c"), say("e", "b"))
	f := usage.NewFold(d, core.Header{})
	f.Add(es...)
	models := f.Report(nil, nil).Models
	if len(models) != 2 || models[0].Model != "p/one" || models[0].Answers != 2 || models[1].Model != "p/two" || models[1].Answers != 1 {
		t.Errorf("models %+v", models)
	}
}

func TestPricesAreFoundByPlainNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude-opus-4-8", "anthropic/claude-opus-4-8", "openrouter/anthropic/claude-opus-4.8", "claude-opus-4-8-20260528", "Claude-Opus-4-8[1m]", "gpt-5.5", "claude-opus-4-8@20260528"} {
		if p, ok := usage.Listed().Of(name); !ok || p.Input != 5 {
			t.Errorf("%s has no price", name)
		}
	}
	for _, name := range []string{"", "claude-opus-4", "claude-opus-4-8-fast", "-20260528", "gpt-5.5-pro"} {
		if p, ok := usage.Listed().Of(name); ok && p.Input == 5 {
			t.Errorf("%s has the price of another model", name)
		}
	}
}

func TestPricesAreReplacedByModel(t *testing.T) {
	t.Parallel()
	own, err := usage.ReadPrices([]byte(`{"date":"2027-01-01","models":{"gpt-5.5":{"input":1,"output":2},"mine":{"input":3,"output":0}}}`))
	if err != nil {
		t.Fatal(err)
	}
	p := usage.Listed().With(own)
	mine, _ := p.Of("mine")
	gpt, _ := p.Of("gpt-5.5")
	opus, _ := p.Of("claude-opus-5")
	if p.Date != "2027-01-01" || mine.Input != 3 || gpt.Output != 2 || opus.Output != 25 || p.Currency != "USD" {
		t.Errorf("prices of %s: %+v %+v %+v", p.Date, mine, gpt, opus)
	}
	if cost := gpt.Cost(usage.Tokens{Input: 1e6, CacheRead: 1e6, CacheWrite: 1e6}); cost != 3 {
		t.Errorf("a cache without prices costs %v, want that of input", cost)
	}
}

// Amounts in two currencies cannot be added.
func TestPricesInAnotherCurrencyReplaceAll(t *testing.T) {
	t.Parallel()
	p := usage.Listed().With(usage.Prices{Date: "2027-01-01", Currency: "EUR", Models: map[string]usage.Price{"mine": {Input: 3}}})
	_, mine := p.Of("mine")
	if _, opus := p.Of("claude-opus-5"); !mine || opus || p.Currency != "EUR" {
		t.Errorf("%+v", p)
	}
}

func TestReadPricesRejectsInvalidList(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `[]`, `{"model":{}}`, `{"models":{"m":{"input":-1}}}`, `{"models":{"m":{"cacheRead":1e300}}}`, `{"models":{"m":{"price":1}}}`} {
		if _, err := usage.ReadPrices([]byte(text)); err == nil || !strings.Contains(err.Error(), "list of prices") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}
