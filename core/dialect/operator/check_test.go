package operator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

// TestCheck: OP-05, OP-06, OP-07, OP-08, OP-09, OP-10, OP-11, OP-13, OP-14, OP-15, OP-16.
func TestCheck(t *testing.T) {
	t.Parallel()
	message := func(m string) string { return says("x", "", m) }
	blocks := `{"type":"text","content":"a"},{"type":"image","images":["aGk="]},{"type":"audio","audio":["aGk="]},{"type":"thinking","content":"t","signature":"s"},` +
		`{"type":"tool_call","id":"c","name":"ls","args":{},"metadata":{}},{"type":"tool_result","id":"c","content":"o","is_error":false}`
	for _, line := range []string{
		header, hello, hi,
		message(`{"role":"user","contents":[` + blocks + `]}`),
		message(`{"role":"tool"}`), message(`{"role":"system","contents":[{}]}`),
		then("message", "x", "", `,"message":{"role":"user"},"meta":{"reply_to":"r","channel_message_id":"c","attachments":[{"path":"/a","mime_type":null}],"reactions":["+1"]}`),
		then("message", "x", "", `,"message":{"role":"user"},"meta":null`),
		then("model_change", "x", "", `,"model_id":"m","provider_id":"p"`),
		then("compaction", "x", "", `,"summary":"s","first_kept_entry_id":"k","tokens_before":7,"details":null,"from_hook":true`),
		then("compaction", "x", "", `,"summary":"s","first_kept_entry_id":"k"`), // as the document has it
		then("compaction", "x", "", `,"summary":"s","first_kept_entry_id":"k","from_hook":"Yes"`), then("compaction", "x", "", `,"summary":"s","first_kept_entry_id":"k","from_hook":1.0`),
		then("branch_summary", "x", "", `,"from_id":"root","summary":"s","details":{"k":1},"from_hook":false`),
		then("label", "x", "", `,"label":"l","target_id":"t"`), then("label", "x", "", `,"target_id":"t"`), then("label", "x", "", `,"label":null,"target_id":"t"`),
		then("leaf", "x", "", `,"target_id":"t"`), then("leaf", "x", "", `,"target_id":null`), then("leaf", "x", "", ``),
		then("custom", "x", "", `,"custom_type":"c","data":[1]`), then("custom", "x", "", `,"custom_type":"c"`),
		then("custom_message", "x", "", `,"custom_type":"c","content":[{"type":"text","content":"t"},{"type":"image"}],"display":false,"details":1`),
		then("session_info", "x", "", `,"name":"n"`), then("session_info", "x", "", ``),
		then("channel", "x", "", `,"name":"slack","chat_id":"C1","user_id":null`),
		`{"type":"leaf"}`, `{"type":"leaf","timestamp":"5.5","parent_id":null,"more":1}`,
	} {
		if err := operator.Check([]byte(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, says := range map[string]string{
		message(`{"role":"assistant","stop_reason":"weird"}`):                           "stop_reason is not one of abort, content_filter",
		message(`{"role":"assistant","error":5}`):                                       "error is not a string",
		message(`{"role":"assistant","usage":"much"}`):                                  "usage is not an object",
		message(`{"role":"user","contents":[{"type":"text","content":5}]}`):             "content is not a string",
		message(`{"role":"assistant","contents":[{"type":"tool_call","name":"ls"}]}`):   "id is not a string",
		then("custom_message", "x", "", `,"custom_type":"c","content":[{"content":5}]`): "content is not a string",
		``:                                  "not JSON",
		`[]`:                                "not a JSON object",
		`{}`:                                "unknown type",
		`{"type":"wormhole"}`:               `unknown type "wormhole"`,
		`{"type":"session"}`:                "no cwd",
		`{"type":"session","id":5}`:         "id in the header is not a string",
		`{"type":"leaf","id":5}`:            "id is not a string",
		`{"type":"leaf","id":null}`:         "id is not a string",
		`{"type":"leaf","parent_id":5}`:     "parent_id is not a string or null",
		`{"type":"leaf","timestamp":null}`:  "timestamp is not a number",
		`{"type":"leaf","timestamp":"now"}`: "timestamp is not a number",
		then("message", "x", "", ``):        "message is not a message",
		message(`null`):                     "message is not a message",
		message(`{}`):                       "message is not a message",
		message(`{"role":"custom"}`):        "message is not a message",
		message(`{"role":"user","contents":"text"}`):                                                 "message is not a message",
		message(`{"role":"user","contents":[{"type":"video"}]}`):                                     "message is not a message",
		message(`{"role":"user","contents":["text"]}`):                                               "message is not a message",
		then("message", "x", "", `,"message":`+helloM+`,"meta":5`):                                   "meta is not",
		then("message", "x", "", `,"message":`+helloM+`,"meta":{"reply_to":7}`):                      "meta is not",
		then("message", "x", "", `,"message":`+helloM+`,"meta":{"reactions":[1]}`):                   "meta is not",
		then("message", "x", "", `,"message":`+helloM+`,"meta":{"attachments":["/a"]}`):              "meta is not",
		then("thinking_level_change", "x", "", ``):                                                   "one of off, minimal",
		then("model_change", "x", "", `,"model_id":"m"`):                                             "provider_id is not a string",
		then("compaction", "x", "", `,"summary":"s"`):                                                "first_kept_entry_id is not a string",
		then("compaction", "x", "", `,"summary":"s","first_kept_entry_id":"k","tokens_before":null`): "tokens_before is not a whole number",
		then("compaction", "x", "", `,"summary":"s","first_kept_entry_id":"k","tokens_before":1.5`):  "tokens_before is not a whole number",
		then("compaction", "x", "", `,"summary":"s","first_kept_entry_id":"k","from_hook":"maybe"`):  "from_hook is not true or false",
		then("branch_summary", "x", "", `,"from_id":"root","summary":"s","from_hook":null`):          "from_hook is not true or false",
		then("custom_message", "x", "", `,"custom_type":"c","content":[],"display":"never"`):         "display is not true or false",
		then("custom_message", "x", "", `,"custom_type":"c","content":[],"display":2`):               "display is not true or false",
		then("branch_summary", "x", "", `,"summary":"s"`):                                            "from_id is not a string",
		then("label", "x", "", `,"label":"l"`):                                                       "target_id is not a string",
		then("label", "x", "", `,"label":5,"target_id":"t"`):                                         "label is not a string or null",
		then("leaf", "x", "", `,"target_id":5`):                                                      "target_id is not",
		then("custom", "x", "", `,"data":1`):                                                         "custom_type is not a string",
		then("custom_message", "x", "", `,"custom_type":"c","content":"text"`):                       "content is not a list",
		then("custom_message", "x", "", `,"custom_type":"c","content":[{"type":"audio"}]`):           "content is not a list",
		then("session_info", "x", "", `,"name":5`):                                                   "name is not",
		then("channel", "x", "", `,"chat_id":"c"`):                                                   "name is not a string",
	} {
		if err := operator.Check([]byte(line)); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want ErrInvalid with %q", line, err, says)
		}
	}
}

// TestThinkingLevels: OP-10.
func TestThinkingLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]bool{
		`"off"`: true, `"minimal"`: true, `"low"`: true, `"medium"`: true, `"high"`: true, `"xhigh"`: true, `"max"`: true, `"\u006dax"`: true,
		`"ultra"`: false, `"High"`: false, `""`: false, `"high "`: false, `null`: false, `5`: false, `["high"]`: false,
	} {
		err := operator.Check([]byte(then("thinking_level_change", "t", "", `,"thinking_level":`+level)))
		if (err == nil) != want {
			t.Errorf("%s: %v", level, err)
		}
	}
}
