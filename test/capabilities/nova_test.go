package capabilities

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// NOVA-02, NOVA-10 to NOVA-12, NOVA-14, NOVA-16, NOVA-17, NOVA-21 to NOVA-28,
// NOVA-36: random calls of Nova's session manager through HTTP requests. A model
// of Nova's methods, as its document prints them, says what the state is after each.
func TestNovaSessionsEqualTheirModel(t *testing.T) {
	t.Parallel()
	sequences(t, 10, 150, func(c caller) {
		n := &nova{caller: c}
		n.create()
		for range 8 + c.rng.IntN(16) {
			n.step(n.all[c.rng.IntN(len(n.all))])
		}
		for _, s := range n.all {
			n.compare(s)
		}
	})
}

// NOVA-01, NOVA-28, FLEET-34: a session continues by turns in the log and in
// Nova, which changes its file.
func TestNovaFilesContinueByTurns(t *testing.T) {
	t.Parallel()
	sequences(t, 10, 150, func(c caller) {
		n := &nova{caller: c}
		s := n.create()
		for range 3 + c.rng.IntN(6) {
			n.change(s)
			n.novaTurn(s)
			n.compare(s)
		}
	})
}

// A novaState is what Nova's CompressedSessionState has, with the methods that the
// document prints. Times are left out, except those that a caller gave.
type novaState struct {
	ID, Model, Agent, Plan string
	Decisions              []map[string]string
	Artifacts              map[string]string
	Tokens, Turns          int64
	Tags                   []string
	Tasks, Counted, Total  int64 // metrics
	Parent                 string
	Forks                  int64
	Pruned                 bool
}

func (s *novaState) addDecision(decision, rationale, timestamp string) {
	d := map[string]string{"decision": decision, "rationale": rationale, "timestamp": timestamp}
	s.Decisions = append(s.Decisions, d)
	s.Decisions = s.Decisions[max(0, len(s.Decisions)-10):]
	s.Counted++
}

func (s *novaState) updateTokens(n int64) {
	s.Tokens += max(0, n)
	s.Total += max(0, n)
}

func (s *novaState) incrementTurns(n int64) {
	s.Turns += max(0, n)
	s.Tasks++
}

// compress keeps none for 0 decisions, where Nova's slice keeps all.
func (s *novaState) compress(decisions int, tokens int64) {
	s.Decisions = s.Decisions[max(0, len(s.Decisions)-decisions):]
	if s.Tokens > tokens {
		s.Artifacts = nil
	}
	s.Counted, s.Pruned = 0, true
}

func (s *novaState) shouldPrune(decisions int, tokens int64) bool {
	return !s.Pruned && (len(s.Decisions) > decisions || s.Tokens > tokens)
}

func (s *novaState) fork(id string) *novaState {
	return &novaState{
		ID: id, Model: s.Model, Agent: s.Agent, Plan: s.Plan, Decisions: slices.Clone(s.Decisions),
		Artifacts: maps.Clone(s.Artifacts), Tokens: s.Tokens, Tags: slices.Clone(s.Tags), Parent: s.ID,
	}
}

// toDict is s as Nova writes it: members without a value are left out.
func (s *novaState) toDict() map[string]any {
	decisions := []map[string]string{}
	for _, d := range s.Decisions {
		d = maps.Clone(d)
		if d["timestamp"] == "" {
			d["timestamp"] = "now"
		}
		decisions = append(decisions, d)
	}
	m := map[string]any{
		"session_id": s.ID, "model": s.Model, "key_decisions": decisions, "latest_artifacts": s.Artifacts, "tokens_used": s.Tokens,
		"turn_count": s.Turns, "tags": list(s.Tags), "fork_count": s.Forks, "pruned": s.Pruned,
		"metrics": map[string]any{"task_count": s.Tasks, "decision_count": s.Counted, "total_tokens": s.Total},
	}
	if s.Artifacts == nil {
		m["latest_artifacts"] = map[string]string{}
	}
	for name, v := range map[string]string{"agent_name": s.Agent, "current_plan": s.Plan, "fork_parent_id": s.Parent} {
		if v != "" {
			m[name] = v
		}
	}
	return m
}

// context is the text that run_task returns.
func (s *novaState) context() string {
	text := fmt.Sprintf("Session ID: %s\nModel: %s\nTurns: %d", s.ID, s.Model, s.Turns)
	if s.Plan != "" {
		text += "\nPlan: " + s.Plan
	}
	if n := len(s.Decisions); n > 0 {
		text += "\nRecent decision: " + s.Decisions[n-1]["decision"]
	}
	return text
}

// A nova plays one sequence.
type nova struct {
	caller
	all []*novaState
}

// create makes a session, in the log or by the import of Nova's file.
func (n *nova) create() *novaState {
	s := &novaState{ID: randomUUID(n.rng), Model: "claude-sonnet-4-5-20250929"}
	if n.rng.IntN(2) == 0 {
		n.do(201, "POST", "/v1/sessions", jsonText(map[string]any{"id": s.ID, "dialect": "nova", "cwd": "/w"}))
	} else {
		s.Agent, s.Tags, s.Forks = "impl", []string{"pr", "feature"}, n.rng.Int64N(2)
		s.updateTokens(n.rng.Int64N(150_000))
		doc := s.toDict()
		doc["created_at"], doc["last_updated"] = "2026-11-20T22:50:44.971772", "2026-11-20T22:50:44.971772"
		n.do(200, "POST", "/v1/import?dialect=nova", jsonText(doc))
	}
	n.all = append(n.all, s)
	return s
}

func (n *nova) step(s *novaState) {
	if n.rng.IntN(8) > 0 {
		n.change(s)
		return
	}
	child := s.fork(randomUUID(n.rng))
	n.do(201, "POST", "/v1/sessions/"+s.ID+"/fork", jsonText(map[string]any{"id": child.ID}))
	s.Forks++
	n.all = append(n.all, child)
}

// change is one call of Nova's on a session in the log.
func (n *nova) change(s *novaState) {
	switch n.rng.IntN(8) {
	case 0:
		count := n.rng.Int64N(60_000) - 10_000
		s.updateTokens(count)
		n.line(s, map[string]any{"type": "tokens", "count": count})
	case 1:
		name, path := fmt.Sprint("a", n.rng.IntN(4)), "/p/"+n.word()
		if s.Artifacts == nil {
			s.Artifacts = map[string]string{}
		}
		s.Artifacts[name] = path
		n.line(s, map[string]any{"type": "artifact", "name": name, "path": path})
	case 2:
		s.Plan = n.word()
		n.line(s, map[string]any{"type": "update", []string{"current_plan", "plan_summary"}[n.rng.IntN(2)]: s.Plan})
	case 3:
		decisions, tokens := n.rng.IntN(5), n.rng.Int64N(100_000)
		s.compress(decisions, tokens)
		n.line(s, map[string]any{"type": "compress", "max_decisions": decisions, "max_tokens": tokens})
	case 4:
		d := n.decision(s)
		n.line(s, map[string]any{"type": "decision", "decision": d})
	default:
		n.task(s)
	}
}

// task is run_task, sometimes with other limits.
func (n *nova) task(s *novaState) {
	line := map[string]any{"type": "task"}
	if n.rng.IntN(2) == 0 {
		line["decision"] = n.decision(s)
	}
	turns := int64(1)
	if n.rng.IntN(3) == 0 {
		turns = n.rng.Int64N(5) - 1
		line["turns"] = turns
	}
	s.incrementTurns(turns)
	decisions, tokens := 10, int64(150_000)
	if n.rng.IntN(3) == 0 {
		decisions, tokens = n.rng.IntN(5), n.rng.Int64N(100_000)
		line["max_decisions"], line["max_tokens"] = decisions, tokens
	}
	if s.shouldPrune(decisions, tokens) {
		s.compress(decisions, tokens)
	}
	n.line(s, line)
}

func (n *nova) decision(s *novaState) map[string]string {
	d := map[string]string{"decision": n.word(), "rationale": ""}
	if n.rng.IntN(2) == 0 {
		d["rationale"], d["timestamp"] = n.word(), "2026-11-20T22:50:44.972552"
	}
	s.addDecision(d["decision"], d["rationale"], d["timestamp"])
	return d
}

func (n *nova) line(s *novaState, line map[string]any) {
	n.do(200, "POST", "/v1/sessions/"+s.ID+"/entries", jsonText(line)+"\n")
}

// novaTurn lets Nova load the file, change it by its own methods and save it. The
// file is imported, and then files that were made from earlier states.
func (n *nova) novaTurn(s *novaState) {
	before := n.export(s)
	was := *s
	s.incrementTurns(1)
	if n.rng.IntN(2) == 0 {
		s.addDecision(n.word(), "r", "2026-11-20T22:50:44.972552")
	}
	s.updateTokens(n.rng.Int64N(1000))
	if n.rng.IntN(4) == 0 && s.shouldPrune(10, 1000) {
		s.compress(10, 1000)
	}
	n.do(200, "POST", "/v1/import?dialect=nova", n.saved(before, s))
	n.compare(s)
	n.do(200, "POST", "/v1/import?dialect=nova", jsonText(before)) // the session had it
	n.compare(s)
	// Nova continues from before, while the log has what it lacks.
	was.incrementTurns(7)
	s.updateTokens(5000)
	n.line(s, map[string]any{"type": "tokens", "count": 5000})
	n.do(409, "POST", "/v1/import?dialect=nova", n.saved(before, &was))
}

// saved is the file that Nova writes after it loaded doc and changed it to s.
func (n *nova) saved(doc map[string]any, s *novaState) string {
	next := maps.Clone(doc)
	maps.Copy(next, s.toDict())
	if s.Pruned && next["last_pruned_at"] == nil {
		next["last_pruned_at"] = "2026-11-20T22:50:44.972794"
	}
	for i, d := range next["key_decisions"].([]map[string]string) {
		for _, old := range doc["key_decisions"].([]any) { // the times that the log filled in
			if old := old.(map[string]any); d["timestamp"] == "now" && old["decision"] == d["decision"] {
				next["key_decisions"].([]map[string]string)[i]["timestamp"] = old["timestamp"].(string)
			}
		}
	}
	return jsonText(next)
}

func (n *nova) export(s *novaState) map[string]any {
	n.Helper()
	var doc map[string]any
	if err := json.Unmarshal(n.do(200, "GET", "/v1/sessions/"+s.ID+"/export", ""), &doc); err != nil {
		n.Fatal(err)
	}
	return doc
}

// compare reads the state's file and its context.
func (n *nova) compare(s *novaState) {
	n.Helper()
	got := n.export(s)
	for _, name := range []string{"created_at", "last_updated"} {
		if at, _ := got[name].(string); len(at) < len("2026-11-20T22:50:44") || strings.HasSuffix(at, "Z") {
			n.Errorf("%s is %v", name, got[name])
		}
		delete(got, name)
	}
	if at, _ := got["last_pruned_at"].(string); (at != "") != s.Pruned {
		n.Errorf("last_pruned_at is %q, pruned %v", at, s.Pruned)
	}
	delete(got, "last_pruned_at")
	want := s.toDict()
	for i, d := range got["key_decisions"].([]any) {
		if i < len(s.Decisions) && s.Decisions[i]["timestamp"] == "" {
			d.(map[string]any)["timestamp"] = "now"
		}
	}
	if d := cmp.Diff(parsed(jsonText(want)), parsed(jsonText(got))); d != "" {
		n.Errorf("state of %s:\n%s", s.ID, d)
	}
	context := n.do(200, "GET", "/v1/sessions/"+s.ID+"/context", "")
	if text := jsonText(s.context()); !strings.Contains(string(context), text[1:len(text)-1]) {
		n.Errorf("context of %s lacks %s:\n%s", s.ID, text, context)
	}
}

func parsed(text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

func (n *nova) word() string { return fmt.Sprintf("w%x", n.rng.Uint64()) }
