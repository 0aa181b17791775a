package omp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/omp"
)

// rest is what a context ends with when nothing was chosen but a model.
func rest(models string) string {
	return `,"thinkingLevel":"off","models":` + models + `,"injectedTtsrRules":[],"mode":"none"}`
}

const answered = `{"default":"openai/m1"}`

// OMP-05, OMP-06, OMP-12, OMP-14, OMP-23, OMP-24, OMP-25, OMP-26, OMP-27: the
// settings that hold at the end of a path.
func TestSettings(t *testing.T) {
	t.Parallel()
	model := func(more string) string { return then("model_change", "m", more) }
	tier := func(v string) string { return then("service_tier_change", "s", `,"serviceTier":`+v) }
	thinking := func(more string) string { return then("thinking_level_change", "t", more) }
	other := stored("a2", `{"role":"assistant","content":[],"provider":"x","model":"y"}`)
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"None", nil, rest(`{}`)},
		{"ModelOfTheAnswer", []string{hello, hi}, rest(answered)},
		{"ModelOfTheLastAnswer", []string{hi, other}, rest(`{"default":"x/y"}`)},
		{"ModelChosen", []string{model(`,"model":"p/q"`), hi}, rest(`{"default":"p/q"}`)},
		{"ModelChosenAfterAnAnswer", []string{hi, model(`,"model":"p/q"`), other}, rest(`{"default":"p/q"}`)},
		{"ModelOfARole", []string{model(`,"model":"p/q","role":"smol"`), hi}, rest(`{"smol":"p/q","default":"openai/m1"}`)},
		{"ModelOfNoRole", []string{model(`,"model":"p/q","role":null`), hi}, rest(`{"default":"p/q"}`)},
		{"ModelOfPi", []string{model(`,"provider":"p","modelId":"q"`)}, rest(`{}`)},
		{"ModelOfNobody", []string{stored("x", `{"role":"assistant","content":[]}`)}, rest(`{"default":"undefined/undefined"}`)},

		{"Thinking", []string{thinking(`,"thinkingLevel":"high","configured":"auto"`)}, `,"thinkingLevel":"high","configuredThinkingLevel":"auto"` + strings.TrimPrefix(rest(`{}`), `,"thinkingLevel":"off"`)},
		{"ThinkingNotConfigured", []string{thinking(`,"thinkingLevel":"low"`)}, `,"thinkingLevel":"low","configuredThinkingLevel":"low"` + strings.TrimPrefix(rest(`{}`), `,"thinkingLevel":"off"`)},
		{"ThinkingNull", []string{thinking(`,"thinkingLevel":"low"`), thinking(`,"thinkingLevel":null,"configured":null`)}, rest(`{}`)},

		{"Tier", []string{tier(`{"google":"flex","openai":"priority","x":"auto","anthropic":"no"}`)}, strings.Replace(rest(`{}`), `,"models"`, `,"serviceTier":{"openai":"priority","google":"flex"},"models"`, 1)},
		{"TierOfOld", []string{tier(`"claude-only"`)}, strings.Replace(rest(`{}`), `,"models"`, `,"serviceTier":{"anthropic":"priority"},"models"`, 1)},
		{"TierUnknown", []string{tier(`"flex"`), tier(`"gold"`)}, rest(`{}`)},
		{"TierCleared", []string{tier(`"flex"`), tier(`null`)}, rest(`{}`)},
		{"TierOfNothing", []string{tier(`"flex"`), tier(`{"openai":"x"}`)}, rest(`{}`)},

		{
			"Rules",
			[]string{then("ttsr_injection", "i", `,"injectedRules":["b","a"]`), then("ttsr_injection", "j", `,"injectedRules":["a","c","\u0062"]`)},
			strings.Replace(rest(`{}`), `[]`, `["b","a","c"]`, 1),
		},
		{"RulesMissing", []string{then("ttsr_injection", "i", ``), then("ttsr_injection", "j", `,"injectedRules":"ab"`)}, rest(`{}`)},

		{"Mode", []string{then("mode_change", "i", `,"mode":"plan","data":{"f":1}`)}, strings.Replace(rest(`{}`), `"none"`, `"plan","modeData":{"f":1}`, 1)},
		{"ModeLeft", []string{then("mode_change", "i", `,"mode":"plan","data":{"f":1}`), then("mode_change", "j", `,"mode":"none"`)}, rest(`{}`)},

		{"BeforeACompaction", []string{then("mode_change", "i", `,"mode":"plan"`), then("reset_boundary", "r", "")}, strings.Replace(rest(`{}`), `"none"`, `"plan"`, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw, err := omp.Dialect{}.Context(entries(t, chain(c.lines...)...), core.Leaf{})
			_, got, ok := strings.Cut(string(raw), `]`+c.want[:12])
			if err != nil || !ok || c.want[:12]+got != c.want {
				t.Errorf("%s, %v\nwant … %s", raw, err, c.want)
			}
		})
	}
}

// OMP-04, OMP-07, OMP-08, OMP-09, OMP-10, OMP-13, OMP-28: what each entry adds, and
// what speaks for what.
func TestContext(t *testing.T) {
	t.Parallel()
	const (
		summary = `{"role":"compactionSummary","summary":"S","tokensBefore":9,` + stamp + `}`
		after   = `{"role":"user","content":"after"}`
		asked   = `{"role":"user","content":"asked"}`
	)
	compact := func(more string) string { return then("compaction", "k", `,"summary":"S","tokensBefore":9`+more) }
	with := func(more string) string { return strings.Replace(summary, `,"timestamp"`, more+`,"timestamp"`, 1) }
	said := func(id, more string) string { return then("custom_message", id, more) }
	kept := func(id string) string { return `,"firstKeptEntryId":"` + id + `"` }
	u2 := stored("u2", after)
	reset := then("reset_boundary", "r", "")
	note := func(id, data string) string {
		return then("custom", id, `,"customType":"experimental_context_notes","data":`+data)
	}
	notes := func(text string) string {
		return `{"role":"custom","customType":"experimental_context_notes","content":"<experimental-context-notes>\n` + text + `\n</experimental-context-notes>","display":false,` + stamp + `}`
	}
	openai := `,"preserveData":{"openaiRemoteCompaction":{"provider":"openai","replacementHistory":[{"a":1}]}}`
	openaiM := with(`,"providerPayload":{"type":"openaiResponsesHistory","provider":"openai","items":[{"a":1}]}`)
	anthropic := `,"preserveData":{"anthropicCompaction":{"provider":"anthropic","content":"C","signature":"s","encryptedContent":""}}`
	anthropicM := func(at int) string {
		return with(fmt.Sprintf(`,"providerPayload":{"type":"anthropicCompaction","provider":"anthropic","content":"C","signature":"s"},"historyRewriteAt":%d`, at))
	}
	rollover := `,"details":{"kind":"experimental-context-rollover","version":1}`
	for _, c := range []struct {
		name     string
		lines    []string
		messages []string
	}{
		{"Plain", []string{hello, hi}, []string{helloM, hiM}},
		{"OtherTypesAddNothing", []string{hello, then("custom", "c", `,"data":1`), then("session_init", "i", ""), then("credential_pin", "p", ""), then("model_usage", "g", ""), then("wormhole", "w", ""), hi}, []string{helloM, hiM}},
		{"MessageMissing", []string{hello, then("message", "x", ""), then("message", "y", `,"message":null`), hi}, []string{helloM, hiM}},
		{"MessageNoObject", []string{stored("x", `"text"`)}, []string{`"text"`}},
		{"AsJavaScriptWritesIt", []string{stored("x", `{"role":"\u0075ser","n":1.0,"1":-0}`)}, []string{`{"1":0,"role":"user","n":1}`}},

		{"CustomMessage", []string{said("c", `,"customType":"x","content":"t","display":true,"details":{"a":1},"attribution":"user"`)}, []string{`{"role":"custom","customType":"x","content":"t","display":true,"details":{"a":1},"attribution":"user",` + stamp + `}`}},
		{"CustomMessageBare", []string{said("c", `,"content":[]`)}, []string{`{"role":"custom","customType":"custom-message","content":[],"display":false,` + stamp + `}`}},
		{"CustomMessageOdd", []string{said("c", `,"customType":7,"content":"t","display":"yes","attribution":null`)}, []string{`{"role":"custom","customType":"custom-message","content":"t","display":false,"attribution":"agent",` + stamp + `}`}},
		{"CustomMessageWithoutContent", []string{said("c", `,"customType":"x"`), said("d", `,"content":7`), said("e", `,"content":{}`)}, nil},
		{"CustomMessagesForTheScreen", []string{said("c", `,"customType":"prewalk-plan","content":"t"`), said("d", `,"customType":"vibe-mode-context","content":"t"`)}, nil},
		{"BranchSummary", []string{then("branch_summary", "b", `,"fromId":"u1","summary":"S"`)}, []string{`{"role":"branchSummary","summary":"S","fromId":"u1",` + stamp + `}`}},
		{"BranchSummaryEmpty", []string{then("branch_summary", "b", `,"fromId":"u1","summary":""`)}, nil},

		{"CompactionKeeps", []string{hello, hi, compact(kept("a1")), u2}, []string{summary, hiM, after}},
		{"CompactionKeepsNothing", []string{hello, hi, compact(``), u2}, []string{summary, after}},
		{"CompactionKeptUnknown", []string{hello, hi, compact(kept("gone")), u2}, []string{summary, after}},
		{"CompactionKeptLater", []string{hello, hi, compact(kept("u2")), u2}, []string{summary, after}},
		{"CompactionKeptItself", []string{hello, hi, compact(kept("k")), u2}, []string{summary, after}},
		{"LatestCompactionCounts", []string{hello, then("compaction", "j", `,"summary":"old"`), hi, compact(kept("u1"))}, []string{summary, helloM, hiM}},
		{
			"CompactionInFull",
			[]string{compact(`,"shortSummary":"h","tokensAfter":1,"method":"soft","warning":"w","details":{},"fromExtension":true`)},
			[]string{`{"role":"compactionSummary","summary":"S","shortSummary":"h","tokensBefore":9,"tokensAfter":1,"method":"soft","warning":"w",` + stamp + `}`},
		},

		{"Reset", []string{hello, hi, reset, u2}, []string{after}},
		{"ResetAtTheEnd", []string{hello, hi, reset}, nil},
		{"ResetAfterCompaction", []string{hello, compact(kept("u1")), hi, reset, u2}, []string{after}},
		{"CompactionAfterReset", []string{hello, reset, hi, compact(kept("u1")), u2}, []string{summary, helloM, hiM, after}},

		{"OpenAIHasTheHistory", []string{hello, hi, compact(openai + kept("u1")), u2}, []string{openaiM, after}},
		{"OpenAIHasPartOfIt", []string{hello, hi, compact(openai + kept("u1") + `,"providerReplayThroughEntryId":"u1"`), u2}, []string{openaiM, hiM, after}},
		{"OpenAIHasNoList", []string{hello, compact(strings.Replace(openai, "[", "[5,", 1) + kept("u1"))}, []string{summary, helloM}},
		{"OpenAIUnnamed", []string{hello, compact(strings.Replace(openai, `"openai",`, `"",`, 1) + kept("u1"))}, []string{summary, helloM}},
		{"AnthropicSigned", []string{hello, hi, compact(anthropic + kept("a1")), u2}, []string{anthropicM(1767323045999), hiM, after}},
		{"AnthropicFromWhereItHasIt", []string{hello, hi, compact(anthropic + kept("") + `,"providerReplayThroughEntryId":"u1"`), u2}, []string{anthropicM(1767323045999), hiM, after}},
		{"AnthropicAll", []string{hello, hi, compact(anthropic + kept("gone")), u2}, []string{anthropicM(1767323044999), after}},
		{"AnthropicEmpty", []string{hello, compact(strings.Replace(anthropic, `"C"`, `""`, 1) + kept("u1"))}, []string{summary, helloM}},

		{"RolloverKeepsTheRequest", []string{stored("q", asked), hi, compact(rollover + kept("a1")), u2}, []string{summary, asked, hiM, after}},
		{"RolloverKeepsNothingElse", []string{stored("q", asked), hi, compact(rollover + kept("k")), u2}, []string{summary, asked, after}},
		{"RolloverRequestIsKept", []string{stored("q", asked), hi, compact(rollover + kept("q"))}, []string{summary, asked, hiM}},
		{"RolloverBehindAReset", []string{stored("q", asked), reset, hi, compact(rollover + kept("a1"))}, []string{summary, hiM}},
		{
			"RolloverOfASkill",
			[]string{stored("q", asked), said("c", `,"customType":"skill-prompt","content":"t","attribution":"user"`), hi, compact(rollover + kept("a1"))},
			[]string{summary, `{"role":"custom","customType":"skill-prompt","content":"t","display":false,"attribution":"user",` + stamp + `}`, hiM},
		},
		{"RolloverOfAnAgentsSkill", []string{stored("q", asked), said("c", `,"customType":"skill-prompt","content":"t","attribution":"agent"`), hi, compact(rollover + kept("a1"))}, []string{summary, asked, hiM}},

		{
			"ArchiveOfPictures",
			[]string{compact(`,"preserveData":{"snapcompact":{"textHead":"H","textTail":"T","frames":[{"data":"D","mimeType":"image/png","cols":1,"rows":1,"chars":1,"detail":"x"},{"data":""},5]}}`)},
			[]string{with(`,"blocks":[{"type":"text","text":"H"},{"type":"image","data":"D","mimeType":"image/png","detail":"x"},{"type":"text","text":"T"}],"images":[{"type":"image","data":"D","mimeType":"image/png","detail":"x"}]`)},
		},

		{"Notes", []string{hello, note("n", `{"version":1,"text":"N"}`), hi}, []string{notes("N"), helloM, hiM}},
		{"NotesBeforeACompaction", []string{note("n", `{"version":1,"text":"N"}`), compact("")}, []string{notes("N"), summary}},
		{"NotesLastValid", []string{note("n", `{"version":1,"text":"N"}`), note("o", `{"version":2,"text":"O"}`), note("p", `{"version":1,"text":"P","x":1}`), note("q", `5`)}, []string{notes("N")}},
		{"NotesTooLong", []string{note("n", `{"version":1,"text":"N"}`), note("o", `{"version":1,"text":"`+strings.Repeat("x", 16385)+`"}`)}, []string{notes("N")}},
		{"NotesCleared", []string{note("n", `{"version":1,"text":"N"}`), note("o", `{"version":1,"text":""}`)}, nil},
		{"NotesBeforeAReset", []string{note("n", `{"version":1,"text":"N"}`), reset}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantMessages(t, chain(c.lines...), c.messages)
		})
	}
}

// wantMessages compares the messages of a context.
func wantMessages(t *testing.T, lines, want []string) {
	t.Helper()
	raw, err := omp.Dialect{}.Context(entries(t, lines...), core.Leaf{})
	got, _, ok := strings.Cut(string(raw), `],"thinkingLevel":`)
	got = strings.TrimPrefix(got, `{"messages":[`)
	if err != nil || !ok || got != strings.Join(want, ",") {
		t.Errorf("%s, %v\nwant %s", got, err, strings.Join(want, ","))
	}
}

func TestNotesPrompt(t *testing.T) {
	t.Parallel()
	es := entries(t, then("custom", "n", `,"customType":"experimental_context_notes","data":{"version":1,"text":"{{notes}} <&"}`))
	raw, err := omp.Dialect{Notes: " remember: {{notes}}.\n"}.Context(es, core.Leaf{})
	if err != nil || !strings.Contains(string(raw), `"content":"remember: {{notes}} <&."`) {
		t.Errorf("%s, %v", raw, err)
	}
}

// OMP-28
// Calls without a result, and turns that failed, are not sent again.
func TestPruned(t *testing.T) {
	t.Parallel()
	call := func(id string) string { return `{"type":"toolCall","id":"` + id + `","name":"x"}` }
	says := func(more string, blocks ...string) string {
		return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]` + more + `}`
	}
	result := func(id string) string { return `{"role":"toolResult","toolCallId":"` + id + `"}` }
	const (
		word     = `{"type":"text","text":"w"}`
		signed   = `{"type":"thinking","thinking":"t","thinkingSignature":"s"}`
		unsigned = `{"type":"thinking","thinking":"t"}`
		redacted = `{"type":"redactedThinking","data":"d"}`
		aborted  = `,"stopReason":"aborted"`
		failed   = `,"stopReason":"error"`
		thought  = `{"role":"custom","customType":"interrupted-thinking"}`
	)
	for _, c := range []struct {
		name     string
		in, want []string
	}{
		{"Answered", []string{says("", signed, call("1"), redacted), result("1")}, []string{says("", signed, call("1"), redacted), result("1")}},
		{"Dangling", []string{says("", word, call("1"))}, []string{says("", word)}},
		{"NothingLeft", []string{helloM, says("", call("1"), redacted), helloM}, []string{helloM, helloM}},
		{"SignaturesGo", []string{says(`,"x":1`, signed, redacted, call("1"), call("2")), result("2")}, []string{says(`,"x":1`, unsigned, call("2")), result("2")}},
		{"ResultEarlier", []string{result("1"), says("", call("1"))}, []string{result("1"), says("", call("1"))}},
		{"EscapedType", []string{says("", word, `{"type":"tool\u0043all","id":"1"}`)}, []string{says("", word)}},
		{"ContentIsText", []string{`{"role":"assistant","content":"toolCall"}`}, []string{`{"role":"assistant","content":"toolCall"}`}},
		{"CallOfAUser", []string{`{"role":"user","content":[` + call("1") + `]}`}, []string{`{"role":"user","content":[` + call("1") + `]}`}},

		{"Aborted", []string{helloM, says(aborted, word), helloM}, []string{helloM, helloM}},
		{"AbortedLast", []string{helloM, says(aborted, word)}, []string{helloM}},
		{"Failed", []string{says(failed, word), helloM}, []string{helloM}},
		{"FailedWithResults", []string{says(failed, call("1"), call("2")), result("1"), helloM, result("2")}, []string{helloM}},
		{"ResultOfAnEarlierCallStays", []string{says("", call("1")), result("1"), says(failed, call("1"))}, []string{says("", call("1")), result("1")}},
		{"ThoughtFollows", []string{says(aborted, word), thought, helloM}, []string{says(aborted, word), thought, helloM}},
		{"ThoughtFollowsLater", []string{says(aborted, word), helloM, thought}, []string{helloM, thought}},
		{"ThoughtFollowsWhatWent", []string{says(aborted, word), says(failed, word), thought}, []string{says(aborted, word), says(failed, word), thought}[1:]},
		{"ThoughtFollowsAResultThatWent", []string{says(aborted, word), says(failed, call("1")), result("1"), thought}, []string{says(aborted, word), thought}},

		{"Recovered", []string{says(`,"retryRecovery":{}`, word), helloM}, []string{helloM}},
		{"EmptyError", []string{says(failed, `{"type":"text","text":" "}`, `{"type":"fallback"}`, `{"type":"thinking","thinking":""}`), thought}, []string{thought}},
		{"ErrorThatThought", []string{says(failed, unsigned), thought}, []string{says(failed, unsigned), thought}},
		{"ErrorOfAnUnknownBlock", []string{says(failed, `{"type":"new"}`), thought}, []string{says(failed, `{"type":"new"}`), thought}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lines := make([]string, len(c.in))
			for i, m := range c.in {
				lines[i] = stored(fmt.Sprint("e", i), m)
			}
			wantMessages(t, chain(lines...), c.want)
		})
	}
}
