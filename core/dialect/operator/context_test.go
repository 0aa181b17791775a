package operator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

const (
	afterM   = `{"role":"user","contents":[{"type":"text","content":"after"}]}`
	settings = `"thinking_level":"off","model_id":null,"provider_id":null`
)

// joined is the lines of several tables in one.
func joined(lines ...string) []string { return lines }

// TestContext: OP-05, OP-06, OP-07, OP-10, OP-11, OP-13, OP-14, OP-29, OP-30, OP-31, OP-32.
func TestContext(t *testing.T) {
	t.Parallel()
	compact := func(id, parent, first string) string {
		return then("compaction", id, parent, `,"summary":"S `+id+`","first_kept_entry_id":"`+first+`","tokens_before":9,"from_hook":false`)
	}
	summary := func(id string) string {
		return `{"role":"compaction_summary","summary":"S ` + id + `","tokens_before":9,"timestamp":1003.25}`
	}
	branch := `{"role":"branch_summary","summary":"B","from_id":"root","timestamp":1003.25}`
	extra := `{"role":"custom","custom_type":"x","timestamp":1003.25,"contents":[{"type":"text","content":"t"}],"details":`
	after := says("u2", "k", afterM)
	for _, c := range []struct {
		name     string
		lines    []string
		messages []string
		settings string // "" for none
	}{
		{"Empty", nil, nil, ""},
		{"Plain", joined(hello, hi), joined(helloM, hiM), ""},
		{"AsStored", joined(says("x", "", `{ "role":"tool","n":[1.0,1e400,12345678901234567890],"s":"<\u2028>","s":"日" }`)), joined(`{ "role":"tool","n":[1.0,1e400,12345678901234567890],"s":"<\u2028>","s":"日" }`), ""},
		{"SettingsAndNotesSayNothing", joined(
			hello, hi, then("custom", "c", "a1", `,"custom_type":"x","data":1`), then("label", "l", "c", `,"label":"x","target_id":"a1"`),
			then("session_info", "n", "l", `,"name":"x"`), then("channel", "h", "n", `,"name":"slack"`),
		), joined(helloM, hiM), ""},

		{"Thinking", joined(hello, then("thinking_level_change", "t", "u1", high)), joined(helloM), `"thinking_level":"high","model_id":null,"provider_id":null`},
		{"LatestThinking", joined(hello, then("thinking_level_change", "t", "u1", high), then("thinking_level_change", "v", "t", `,"thinking_level":"low"`)), joined(helloM), `"thinking_level":"low","model_id":null,"provider_id":null`},
		{"RefusedThinking", joined(hello, then("thinking_level_change", "t", "u1", high), then("thinking_level_change", "v", "t", ultra), says("w", "v", hiM)), joined(helloM, hiM), `"thinking_level":"high","model_id":null,"provider_id":null`},
		{"Model", joined(hello, then("model_change", "m", "u1", `,"model_id":"m1","provider_id":"p1"`)), joined(helloM), `"thinking_level":"off","model_id":"m1","provider_id":"p1"`},
		{"RefusedModel", joined(hello, then("model_change", "m", "u1", `,"model_id":"m1"`), says("w", "m", hiM)), joined(helloM, hiM), ""},
		{"SettingsOffThePath", joined(hello, then("thinking_level_change", "t", "u1", high), says("w", "u1", hiM)), joined(helloM, hiM), ""},
		{"SettingsBeforeACompaction", joined(hello, then("thinking_level_change", "t", "u1", high), compact("k", "t", "gone"), after), joined(summary("k"), afterM), `"thinking_level":"high","model_id":null,"provider_id":null`},

		{"CustomMessage", joined(hello, then("custom_message", "c", "u1", `,"custom_type":"x","content":[{"type":"text","content":"t"}],"display":false,"details":{"a":1}`)), joined(helloM, extra+`{"a":1}}`), ""},
		{"CustomMessageWithoutDetails", joined(hello, then("custom_message", "c", "u1", `,"custom_type":"x","content":[{"type":"text","content":"t"}]`)), joined(helloM, extra+`null}`), ""},
		{"CustomMessageRefused", joined(hello, then("custom_message", "c", "u1", `,"custom_type":"x","content":"t"`), says("w", "c", hiM)), joined(helloM, hiM), ""},
		{"BranchSummary", joined(then("branch_summary", "b", "", `,"from_id":"root","summary":"B","details":{"k":1},"from_hook":true`)), joined(branch), ""},
		{"BranchSummaryWithoutTime", joined(`{"type":"branch_summary","id":"b","from_id":"root","summary":""}`), joined(`{"role":"branch_summary","summary":"","from_id":"root","timestamp":null}`), ""},
		{"MessageRefused", joined(hello, says("x", "u1", `null`), says("w", "x", hiM)), joined(helloM, hiM), ""},
		{"UnknownType", joined(hello, then("wormhole", "x", "u1", `,"message":`+hiM), says("w", "x", hiM)), joined(helloM, hiM), ""},

		{"CompactionKeeps", joined(hello, hi, compact("k", "a1", "a1"), after), joined(summary("k"), hiM, afterM), ""},
		{"CompactionKeepsAll", joined(hello, hi, compact("k", "a1", "u1"), after), joined(summary("k"), helloM, hiM, afterM), ""},
		{"CompactionIsLast", joined(hello, hi, compact("k", "a1", "a1")), joined(summary("k"), hiM), ""},
		{"FirstKeptUnknown", joined(hello, hi, compact("k", "a1", "gone"), after), joined(summary("k"), afterM), ""},
		{"FirstKeptIsItself", joined(hello, hi, compact("k", "a1", "k"), after), joined(summary("k"), afterM), ""},
		{"FirstKeptIsLater", joined(hello, hi, compact("k", "a1", "u2"), after), joined(summary("k"), afterM), ""},
		{"FirstKeptOffThePath", joined(hello, says("s", "u1", hiM), hi, compact("k", "a1", "s"), after), joined(summary("k"), afterM), ""},
		{"FirstKeptIsNoMessage", joined(hello, then("label", "l", "u1", `,"target_id":"u1"`), says("w", "l", hiM), compact("k", "w", "l"), after), joined(summary("k"), hiM, afterM), ""},
		{"LastCompactionCounts", joined(hello, compact("k", "u1", "u1"), after, compact("j", "u2", "u1"), says("w", "j", hiM)), joined(summary("j"), helloM, afterM, hiM), ""},
		{"CompactionOnAnotherBranch", joined(hello, hi, compact("k", "a1", "gone"), says("w", "u1", afterM)), joined(helloM, afterM), ""},
		{"CompactionRefused", joined(hello, then("compaction", "k", "u1", `,"summary":"S"`), after), joined(helloM, afterM), ""},
		{"CompactionOfTheDocument", joined(hello, then("compaction", "k", "u1", `,"summary":"S","first_kept_entry_id":"u1"`), after), joined(`{"role":"compaction_summary","summary":"S","tokens_before":null,"timestamp":1003.25}`, helloM, afterM), ""},
		{"KeptSummaries", joined(then("branch_summary", "b", "", `,"from_id":"root","summary":"B"`), compact("k", "b", "b"), after), joined(summary("k"), branch, afterM), ""},

		{"PointedAt", joined(hello, hi, says("w", "a1", afterM), leafTo("l", "w", `"a1"`)), joined(helloM, hiM), ""},
		{"PointedAtNothing", joined(hello, hi, leafTo("l", "a1", "null")), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.settings == "" {
				c.settings = settings
			}
			want := `{"messages":[` + strings.Join(c.messages, ",") + `],` + c.settings + `}`
			got, err := operator.Dialect{}.Context(entries(t, c.lines...), core.Leaf{})
			if err != nil || string(got) != want {
				t.Errorf("%s, %v; want\n%s", got, err, want)
			}
		})
	}
}

func TestContextIsUTF8(t *testing.T) {
	t.Parallel()
	got, err := operator.Dialect{}.Context(entries(t, says("x", "", "{\"role\":\"user\",\"s\":\"\xff\xe2\x82\"}")), core.Leaf{})
	if want := `{"messages":[{"role":"user","s":"` + "\ufffd" + `"}],` + settings + `}`; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

// TestUsable: OP-41.
func TestUsable(t *testing.T) {
	t.Parallel()
	turn := func(reason string, blocks ...string) string {
		return `{"role":"assistant","contents":[` + strings.Join(blocks, ",") + `],"stop_reason":"` + reason + `"}`
	}
	said, blank, none := `{"type":"text","content":"x"}`, `{"type":"text","content":" \u001f\n"}`, ``
	thinks, calls, shows := `{"type":"thinking","content":"x"}`, `{"type":"tool_call","id":"c"}`, `{"type":"image","images":[]}`
	result := `{"role":"tool","contents":[{"type":"tool_result","id":"c"}]}`
	good := turn("stop", said)
	for _, c := range []struct {
		name     string
		messages []string
		want     []string
	}{
		{"None", nil, nil},
		{"Good", joined(helloM, hiM), joined(helloM, hiM)},
		{"EmptyAnywhere", joined(helloM, turn("error", none), helloM, turn("stop", shows), good), joined(helloM, helloM, good)},
		{"NoContents", joined(`{"role":"assistant"}`, helloM), joined(helloM)},
		{"BlankIsNotEmpty", joined(turn("stop", blank), helloM), joined(turn("stop", blank), helloM)},
		{"ThinkingIsNotEmpty", joined(turn("stop", thinks), helloM), joined(turn("stop", thinks), helloM)},
		{"AnsweredCallStays", joined(helloM, turn("tool_calls", calls), result), joined(helloM, turn("tool_calls", calls), result)},
		{"ErrorInTheMiddleStays", joined(turn("error", said), helloM), joined(turn("error", said), helloM)},
		{"TrailingError", joined(helloM, turn("error", said)), joined(helloM)},
		{"TrailingAbort", joined(helloM, turn("abort", said)), joined(helloM)},
		{"TrailingLength", joined(helloM, turn("length", said)), joined(helloM)},
		{"TrailingCall", joined(helloM, turn("stop", said, calls)), joined(helloM)},
		{"TrailingBlank", joined(helloM, turn("stop", blank)), joined(helloM)},
		{"TrailingThinking", joined(helloM, turn("stop", thinks)), joined(helloM)},
		{"TrailingThinkingAndText", joined(helloM, turn("stop", thinks, said)), joined(helloM, turn("stop", thinks, said))},
		{"SeveralTrailing", joined(good, turn("error", said), turn("abort", none), turn("stop", calls)), joined(good)},
		{"NoReasonIsStop", joined(`{"role":"assistant","contents":[{"content":"x"}]}`), joined(`{"role":"assistant","contents":[{"content":"x"}]}`)},
		{"OthersStay", joined(good, `{"role":"user","contents":[]}`, `{"role":"branch_summary","summary":""}`, `5`), joined(good, `{"role":"user","contents":[]}`, `{"role":"branch_summary","summary":""}`, `5`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := operator.Usable([]byte(`{"messages":[` + strings.Join(c.messages, ",") + `],` + settings + `}`))
			want := `{"messages":[` + strings.Join(c.want, ",") + `],` + settings + `}`
			if err != nil || string(got) != want {
				t.Errorf("%s, %v; want\n%s", got, err, want)
			}
		})
	}
	for _, bad := range []string{"", "[]", "{}", `{"messages":5}`, `{"messages":[`} {
		if _, err := operator.Usable([]byte(bad)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Usable(%q): %v", bad, err)
		}
	}
}
