package omp

import (
	"encoding/json"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// settings are what a session is set to at the end of a path. A nil value is
// not shown.
type settings struct {
	thinking   jsjson.Value
	configured jsjson.Value
	tier       jsjson.Value
	models     jsjson.Object // by role, in the order of first mention
	rules      []string      // raw, each once
	mode       jsjson.Value
	modeData   jsjson.Value

	defaultChosen bool // a model was chosen for the role default
}

// settingsAt reads the whole path, also what a compaction or a reset hides.
func settingsAt(path []core.Entry) (*settings, error) {
	s := &settings{thinking: jsjson.Value(`"off"`), mode: jsjson.Value(`"none"`)}
	for _, e := range path {
		switch e.Type {
		case "thinking_level_change", "model_change", "service_tier_change", "mode_change", "ttsr_injection":
		case "message":
			if s.defaultChosen {
				continue
			}
		default:
			continue
		}
		o, err := jsonl.Object(e)
		if err != nil {
			return nil, err
		}
		if err := s.read(e.Type, &o); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *settings) read(kind string, o *jsjson.Object) error {
	switch kind {
	case "thinking_level_change":
		s.thinking = or(o.Get("thinkingLevel"), jsjson.Value(`"off"`))
		s.configured = or(o.Get("configured"), or(o.Get("thinkingLevel"), nil))
	case "model_change":
		s.choose(o)
	case "service_tier_change":
		tier, err := tierOf(o.Get("serviceTier"))
		s.tier = tier
		return err
	case "mode_change":
		s.mode, s.modeData = o.Get("mode"), o.Get("data")
	case "ttsr_injection":
		return s.inject(o.Get("injectedRules"))
	case "message":
		s.infer(o.Get("message"))
	}
	return nil
}

// choose notes the model that was chosen for a role. What pi writes, which has
// no model as one text, chooses nothing.
func (s *settings) choose(o *jsjson.Object) {
	model := o.Get("model")
	if !model.Truthy() {
		return
	}
	role := "default"
	if v := o.Get("role"); !v.IsNullish() {
		role = asText(v)
	}
	s.models.Set(role, model)
	s.defaultChosen = s.defaultChosen || role == "default"
}

// infer takes the model that answered for the default one, unless one was
// chosen.
func (s *settings) infer(message jsjson.Value) {
	m, ok := jsonl.Nested(message)
	if ok && m.Get("role").Is("assistant") {
		model := asText(m.Get("provider")) + "/" + asText(m.Get("model"))
		s.models.Set("default", jsjson.AppendString(nil, model))
	}
}

func (s *settings) inject(rules jsjson.Value) error {
	if rules.Kind() != '[' {
		return nil
	}
	var failed error
	err := jsjson.Each(rules, func(rule jsjson.Value) {
		b, err := jsonl.Append(nil, rule)
		if err != nil {
			failed = err
		}
		if !slices.Contains(s.rules, string(b)) {
			s.rules = append(s.rules, string(b))
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// tierOf reads a service tier by family of models. Older files have one word
// for all of them.
func tierOf(v jsjson.Value) (jsjson.Value, error) {
	if v.Kind() == '"' {
		s, _ := v.Text()
		return oldTiers[s], nil
	}
	given, ok := jsonl.Nested(v)
	if !ok {
		return nil, nil
	}
	var tier jsjson.Object
	found := false
	for _, family := range []string{"openai", "anthropic", "google"} {
		t := given.Get(family)
		if s, ok := t.Text(); ok && slices.Contains([]string{"auto", "default", "flex", "scale", "priority"}, s) {
			tier.Set(family, t)
			found = true
		}
	}
	if !found {
		return nil, nil
	}
	return jsonl.Build(&tier)
}

var oldTiers = map[string]jsjson.Value{
	"priority":    jsjson.Value(`{"openai":"priority","anthropic":"priority","google":"priority"}`),
	"openai-only": jsjson.Value(`{"openai":"priority"}`),
	"claude-only": jsjson.Value(`{"anthropic":"priority"}`),
	"auto":        jsjson.Value(`{"openai":"auto"}`),
	"default":     jsjson.Value(`{"openai":"default"}`),
	"flex":        jsjson.Value(`{"openai":"flex"}`),
	"scale":       jsjson.Value(`{"openai":"scale"}`),
}

// appendTo ends the context with the settings.
func (s *settings) appendTo(b []byte) (json.RawMessage, error) {
	models, err := jsonl.Build(&s.models)
	if err != nil {
		return nil, err
	}
	rules := []byte{'['}
	for i, r := range s.rules {
		if i > 0 {
			rules = append(rules, ',')
		}
		rules = append(rules, r...)
	}
	for _, m := range []struct {
		name  string
		value jsjson.Value
	}{
		{"thinkingLevel", s.thinking},
		{"configuredThinkingLevel", s.configured},
		{"serviceTier", s.tier},
		{"models", models},
		{"injectedTtsrRules", append(rules, ']')},
		{"mode", s.mode},
		{"modeData", s.modeData},
	} {
		if m.value == nil {
			continue
		}
		b = append(append(append(b, `,"`...), m.name...), `":`...)
		if b, err = jsonl.Append(b, m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// or returns v, or other if v is undefined or null.
func or(v, other jsjson.Value) jsjson.Value {
	if v.IsNullish() {
		return other
	}
	return v
}

// asText is v as part of a text.
func asText(v jsjson.Value) string {
	if v == nil {
		return "undefined"
	}
	if s, ok := v.Text(); ok {
		return s
	}
	return string(v)
}
