package redact_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/redact"
)

func TestRedactRemovesContent(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"message","id":"a1","parentId":null,"timestamp":"T","message":{"role":"user","content":"x","timestamp":1}}`: `{"type":"message","id":"a1","parentId":null,"timestamp":"T","message":{"role":"user","content":"?","timestamp":1}}`,
		// An answer: thoughts go, calls stay without their arguments.
		`{"message":{"role":"assistant","content":[{"type":"thinking","thinking":"x","thinkingSignature":"x"},{"type":"text","text":"x","textSignature":"x"},{"type":"toolCall","id":"c1","name":"bash","arguments":{"x":"x"}}],"model":"m","usage":{"input":3,"cost":{"total":1}},"stopReason":"toolUse"}}`: `{"message":{"role":"assistant","content":[{"type":"text","text":"?"},{"type":"toolCall","id":"c1","name":"bash","arguments":{}}],"model":"m","usage":{"input":3,"cost":{"total":1}},"stopReason":"toolUse"}}`,
		// A result.
		`{"message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"image","data":"x","mimeType":"x"},{"type":"text","text":"x"}],"details":{"x":"x"},"isError":false}}`: `{"message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"?"}],"details":{},"isError":false}}`,
		// Nothing but a thought, or a picture.
		`{"content":[{"type":"thinking","thinking":"x"}]}`: `{"content":[{"type":"text","text":"?"}]}`,
		`{"content":[]}`: `{"content":[]}`,
		// Of a model's own protocol.
		`{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}],"content":null}`: `{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}],"content":null}`,
		// A name is content, and so is what has no known shape.
		`{"type":"session_info","name":"x","data":{"x":["x"]},"tags":["x"],"n":1.50,"ok":true}`: `{"type":"session_info","name":"?","data":{},"tags":[],"n":1.50,"ok":true}`,
		// An envelope stays in its place in the file.
		`{"type":"sesslog.line","id":"a","path":"a/b","kind":"k","text":"{\"type\":\"k\",\"payload\":{\"role\":\"user\",\"content\":[{\"text\":\"x\"}]}}"}`: `{"type":"sesslog.line","id":"a","path":"a/b","kind":"k","text":"{\"type\":\"k\",\"payload\":{\"role\":\"user\",\"content\":[{\"text\":\"?\"}]}}"}`,
		`{"type":"sesslog.line","id":"a","path":"a/b","text":"x"}`:      `{"type":"sesslog.line","id":"a","path":"a/b","text":"?"}`,
		`{"type":"sesslog.file","id":"a","path":"a/b","base64":"eA=="}`: `{"type":"sesslog.file","id":"a","path":"a/b","text":"?"}`,
		// Events of opencode keep the state that later ones refer to.
		`{"type":"message.part.updated.1","data":{"sessionID":"s","part":{"id":"p","messageID":"m","type":"tool","tool":"bash","state":{"status":"done","input":{"x":"x"},"output":"x"}},"time":1}}`: `{"type":"message.part.updated.1","data":{"sessionID":"s","part":{"id":"p","messageID":"m","type":"tool","tool":"bash","state":{"status":"done","input":{},"output":"?"}},"time":1}}`,
		// Messages of editors and agents stay messages of their protocol.
		`{"type":"update","id":"a","messages":[{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"x","rawInput":{"x":"x"}}}}]}`: `{"type":"update","id":"a","messages":[{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"?","rawInput":{}}}}]}`,
		// What is too long for a name is none.
		`{"message":{"model":"` + strings.Repeat("x", 200) + `"}}`: `{"message":{"model":"?"}}`,
	} {
		got, err := redact.Line([]byte(in), "?")
		if err != nil || string(got) != want {
			t.Errorf("%s\n is %s\nwant %s (%v)", in, got, want, err)
		}
	}
	for _, in := range []string{``, `[]`, `"x"`, `{"a":1`, `{} {}`} {
		if _, err := redact.Line([]byte(in), "?"); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// Whatever the line, what is left of it is a JSON object, and blank.
func FuzzBlank(f *testing.F) {
	f.Add([]byte(`{"message":{"content":[{"type":"text","text":"x"},1,"x",[2]]}}`), "gone")
	f.Add([]byte(`{"type":"sesslog.line","text":"{\"a\":\"b\"}","base64":"eA=="}`), "{}")
	f.Add([]byte(`{"content":[[[]]],"\ud800":"\ud800"}`), "\xff")
	f.Fuzz(func(t *testing.T, in []byte, text string) {
		once, err := redact.Line(in, text)
		if err != nil {
			if !errors.Is(err, core.ErrInvalid) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		twice, err := redact.Line(once, text)
		if err != nil || string(twice) != string(once) {
			t.Errorf("%s\nis %s\nand then %s (%v)", in, once, twice, err)
		}
	})
}
