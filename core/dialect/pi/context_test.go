package pi_test

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// then is an entry of some type behind hi, with more members.
func then(kind, id, rest string) string {
	return `{"type":"` + kind + `","id":"` + id + `","parentId":"a1","timestamp":"2026-01-02T03:04:05.000Z"` + rest + `}`
}

// behind is entry with another parent.
func behind(parent, entry string) string {
	return strings.Replace(entry, `"parentId":"a1"`, `"parentId":"`+parent+`"`, 1)
}

// stored is a message entry.
func stored(id, parent, message string) string {
	return behind(parent, then("message", id, `,"message":`+message))
}

const (
	m1    = `{"provider":"openai","modelId":"m1"}`
	stamp = `"timestamp":1767323045000`
)

// PI-05, PI-06, PI-07, PI-08, PI-09, PI-10, PI-11, PI-33, PI-34, PI-35: what each
// entry adds to the context, and the settings that it ends with.
func TestContext(t *testing.T) {
	t.Parallel()
	summary := `{"role":"compactionSummary","summary":"S","tokensBefore":9,` + stamp + `}`
	compact := func(kept string) string {
		return then("compaction", "k", `,"summary":"S","tokensBefore":9`+kept)
	}
	after := stored("u2", "k", `{"role":"user","content":"after"}`)
	const afterM = `{"role":"user","content":"after"}`
	edit := func(id, parent, target, replacement string) string {
		return behind(parent, then("context_edit", id, `,"targetId":"`+target+`","replacement":`+replacement))
	}
	for _, c := range []struct {
		name     string
		lines    []string
		messages string
		thinking string // "" for "off"
		model    string // "" for m1
	}{
		{"Empty", nil, ``, "", "null"},
		{"Plain", []string{hello, hi}, helloM + "," + hiM, "", ""},
		{"OtherTypesAddNothing", []string{hello, hi, then("custom", "c", `,"data":1`), behind("c", then("wormhole", "w", ``)), behind("w", then("usage", "g", ``))}, helloM + "," + hiM, "", ""},
		{"NoType", []string{hello, hi, `{"id":"x","parentId":"a1","message":{"role":"user"}}`}, helloM + "," + hiM, "", ""},

		{"Thinking", []string{hello, hi, then("thinking_level_change", "t", `,"thinkingLevel":"high"`)}, helloM + "," + hiM, `"high"`, ""},
		{"ThinkingNull", []string{hello, hi, then("thinking_level_change", "t", `,"thinkingLevel":null`)}, helloM + "," + hiM, `null`, ""},
		{"ThinkingAbsent", []string{hello, hi, then("thinking_level_change", "t", ``)}, helloM + "," + hiM, `absent`, ""},
		{"Model", []string{hello, hi, then("model_change", "m", `,"provider":"p","modelId":"q"`)}, helloM + "," + hiM, "", `{"provider":"p","modelId":"q"}`},
		{"ModelOfAnotherAgent", []string{hello, hi, then("model_change", "m", `,"model":"p/q"`)}, helloM + "," + hiM, "", `{}`},

		{
			"CustomMessage",
			[]string{hello, hi, then("custom_message", "c", `,"customType":"x","content":"t","display":true,"details":{"a":1}`)},
			helloM + "," + hiM + `,{"role":"custom","customType":"x","content":"t","display":true,"details":{"a":1},` + stamp + `}`, "", "",
		},
		{"CustomMessageBare", []string{hello, hi, then("custom_message", "c", ``)}, helloM + "," + hiM + `,{"role":"custom","content":[],` + stamp + `}`, "", ""},
		{
			"BranchSummary",
			[]string{hello, hi, then("branch_summary", "b", `,"fromId":"u1","summary":"S"`)},
			helloM + "," + hiM + `,{"role":"branchSummary","summary":"S","fromId":"u1",` + stamp + `}`, "", "",
		},
		{"BranchSummaryEmpty", []string{hello, hi, then("branch_summary", "b", `,"fromId":"u1","summary":""`)}, helloM + "," + hiM, "", ""},
		{
			"NoDate",
			[]string{hello, hi, `{"type":"branch_summary","id":"b","parentId":"a1","summary":"S","timestamp":"nope"}`},
			helloM + "," + hiM + `,{"role":"branchSummary","summary":"S","timestamp":null}`, "", "",
		},

		{"MessageMissing", []string{hello, hi, then("message", "x", ``)}, helloM + "," + hiM, "", ""},
		{"MessageNull", []string{hello, hi, then("message", "x", `,"message":null`)}, helloM + "," + hiM, "", ""},
		{"MessageNoObject", []string{hello, hi, stored("x", "a1", `"text"`)}, helloM + "," + hiM + `,"text"`, "", ""},
		{"NoContent", []string{stored("x", "", `{"role":"user"}`)}, `{"role":"user","content":[]}`, "", "null"},
		{"NullContentInPlace", []string{stored("x", "", `{"content":null,"role":"toolResult"}`)}, `{"content":[],"role":"toolResult"}`, "", "null"},
		{"NullContentOfSystem", []string{stored("x", "", `{"role":"system","content":null}`)}, `{"role":"system","content":""}`, "", "null"},
		{"NullContentOfOthers", []string{stored("x", "", `{"role":"custom","content":null}`)}, `{"role":"custom","content":null}`, "", "null"},

		{"CompactionKeeps", []string{hello, hi, compact(`,"firstKeptEntryId":"a1"`), after}, summary + "," + hiM + "," + afterM, "", ""},
		{"CompactionKeepsAll", []string{hello, hi, compact(`,"firstKeptEntryId":"u1"`), after}, summary + "," + helloM + "," + hiM + "," + afterM, "", ""},
		{"CompactionKeepsItself", []string{hello, hi, compact(`,"firstKeptEntryId":"k"`), after}, summary + "," + afterM, "", ""},
		{"CompactionKeptMissing", []string{hello, hi, compact(``), after}, summary + "," + afterM, "", ""},
		{"CompactionKeptUnknown", []string{hello, hi, compact(`,"firstKeptEntryId":"gone"`), after}, summary + "," + afterM, "", ""},
		{"CompactionKeptLater", []string{hello, hi, compact(`,"firstKeptEntryId":"u2"`), after}, summary + "," + afterM, "", ""},
		{"CompactionKeptOffPath", []string{hello, stored("side", "u1", `{"role":"user","content":"side"}`), hi, compact(`,"firstKeptEntryId":"side"`), after}, summary + "," + afterM, "", ""},
		{"CompactionOffPath", []string{hello, hi, compact(``), stored("u2", "a1", afterM)}, helloM + "," + hiM + "," + afterM, "", ""},
		{"CompactionIsLast", []string{hello, hi, compact(``)}, summary, "", ""},
		{
			"LatestCompactionCounts",
			[]string{hello, hi, compact(`,"firstKeptEntryId":"u1"`), after, behind("u2", then("compaction", "k2", `,"summary":"T","firstKeptEntryId":"a1","tokensBefore":8`))},
			`{"role":"compactionSummary","summary":"T","tokensBefore":8,` + stamp + `},` + hiM + "," + afterM, "", "",
		},
		{"CompactionBare", []string{hello, hi, then("compaction", "k", ``)}, `{"role":"compactionSummary",` + stamp + `}`, "", ""},
		{"SystemMessageFirst", []string{hello, hi, compact(`,"systemMessage":{"role":"system","content":"Y"}`), after}, `{"role":"system","content":"Y"},` + summary + "," + afterM, "", ""},
		{
			"KeptSystemMessagesGo",
			[]string{stored("s", "", `{"role":"system","content":"Y"}`), behind("s", strings.Replace(hello, "null", `"s"`, 1)), hi, compact(`,"firstKeptEntryId":"s"`), stored("s2", "k", `{"role":"system","content":"Z"}`)},
			summary + "," + helloM + "," + hiM + `,{"role":"system","content":"Z"}`, "", "",
		},

		{"EditOmits", []string{hello, hi, edit("e", "a1", "u1", `null`)}, hiM, "", ""},
		{"EditUser", []string{hello, hi, edit("e", "a1", "u1", `{"content":"new"}`)}, `{"role":"user","content":"new","timestamp":1001},` + hiM, "", ""},
		{
			"EditAssistantMakesBlocks",
			[]string{hello, hi, edit("e", "a1", "a1", `{"content":"new"}`)},
			helloM + `,{"role":"assistant","content":[{"type":"text","text":"new"}],"provider":"openai","model":"m1","timestamp":1002}`, "", "",
		},
		{"EditLastCounts", []string{hello, hi, edit("e", "a1", "u1", `null`), edit("f", "e", "u1", `{"content":[1]}`)}, `{"role":"user","content":[1],"timestamp":1001},` + hiM, "", ""},
		{"EditUnknownTarget", []string{hello, hi, edit("e", "a1", "gone", `null`)}, helloM + "," + hiM, "", ""},
		{"EditWithoutReplacement", []string{hello, hi, then("context_edit", "e", `,"targetId":"u1"`)}, helloM + "," + hiM, "", ""},
		{"EditWithoutContent", []string{hello, hi, edit("e", "a1", "u1", `{}`)}, `{"role":"user","timestamp":1001},` + hiM, "", ""},
		{"EditCustomMessage", []string{hello, then("custom_message", "a1", `,"content":"t"`), edit("e", "a1", "a1", `{"content":"new"}`)}, `{"role":"custom","content":"new",` + stamp + `}`, "", "null"},
		{"EditSystemStays", []string{stored("s", "", `{"role":"system","content":"Y"}`), edit("e", "s", "s", `{"content":"new"}`)}, `{"role":"system","content":"Y"}`, "", "null"},
		{"EditCompactionOmits", []string{hello, hi, compact(``), edit("e", "k", "k", `null`)}, ``, "", ""},
		{"EditBeforeCompactionIsLost", []string{hello, edit("e", "u1", "u1", `null`), behind("e", compact(`,"firstKeptEntryId":"gone"`))}, summary, "", "null"},
		{"EditWithoutTarget", []string{hello, hi, then("context_edit", "e", `,"replacement":null`), `{"type":"message","parentId":"e","message":{"role":"user"}}`}, helloM + "," + hiM, "", ""},
		{"EditOffPath", []string{hello, hi, edit("e", "u1", "u1", `null`), then("custom", "c", ``)}, helloM + "," + hiM, "", ""},

		{
			"AsJavaScriptWritesIt",
			[]string{stored("x", "", `{"role":"user","content":"\u0041\/\ud800","n":[1.0,1e400,-0,12345678901234567890],"b":1,"2":2,"1":3,"b":4}`)},
			`{"1":3,"2":2,"role":"user","content":"A/\ud800","n":[1,null,0,12345678901234567000],"b":4}`, "", "null",
		},
		{
			"Ring",
			[]string{stored("x", "y", `{"role":"user","content":1}`), stored("y", "x", `{"role":"user","content":2}`)},
			`{"role":"user","content":1},{"role":"user","content":2}`, "", "null",
		},
		{"LaterHeaderIsNoEntry", []string{hello, hi, header}, helloM + "," + hiM, "", ""},
		{"LastHasNoID", []string{hello, hi, `{"type":"message","parentId":"a1","message":{"role":"user","content":"x"}}`}, helloM + "," + hiM + `,{"role":"user","content":"x"}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := `{"messages":[` + c.messages + `]`
			switch c.thinking {
			case "":
				want += `,"thinkingLevel":"off"`
			case "absent":
			default:
				want += `,"thinkingLevel":` + c.thinking
			}
			if c.model == "" {
				c.model = m1
			}
			want += `,"model":` + c.model + `}`
			got, err := pi.Dialect{}.Context(entries(t, c.lines...), core.Leaf{})
			if err != nil || string(got) != want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// PI-31
func TestContextAtNoLeaf(t *testing.T) {
	t.Parallel()
	got, err := pi.Dialect{}.Context(entries(t, hello, hi), core.NoLeaf)
	if want := `{"messages":[],"thinkingLevel":"off","model":null}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	got, err = pi.Dialect{}.Context(entries(t, hello, hi), core.LeafAt("u1"))
	if want := `{"messages":[` + helloM + `],"thinkingLevel":"off","model":null}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
