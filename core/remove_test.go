package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
)

func TestAdmitRejectsRedactedID(t *testing.T) {
	s := opened(t, line("a", ""), line("b", "a"))
	s.Origin.Original, s.Origin.OriginalSize = core.DigestOf([]byte("x")), 1
	apply(t, s, core.KindRedact, "main", "w", `{"by":"ada"}`+"\n"+line("a", ""))
	if !s.Redacted["a"] || s.Redacted["b"] || !s.Origin.Original.IsZero() {
		t.Errorf("redacted %v, the file as it was %v", s.Redacted, s.Origin.Original)
	}
	e := core.Entry{ID: "a", Line: []byte(`{"id":"a","other":1}`)}
	if _, err := s.Admit(core.Proposal{Head: "main", Loose: true, Entries: []core.Entry{e}}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("other bytes for it: %v", err)
	}
	restoreIt(t, s)
}

// A file may have used an id twice; both lines say what was to be taken out.
func TestRedactReplacesEveryEntryOfAnID(t *testing.T) {
	s := opened(t, line("a", ""), `{"type":"custom","id":"a","x":"swordfish"}`)
	apply(t, s, core.KindRedact, "main", "w", `{}`+"\n"+`{"type":"custom","id":"a"}`)
	if text := string(s.Render()); strings.Contains(text, "swordfish") || strings.Count(text, "\n"+`{"type":"custom","id":"a"}`) != 2 {
		t.Errorf("it is\n%s", text)
	}
}

func TestManifestWithLegalHoldRequiresItsFoldVersion(t *testing.T) {
	s := opened(t, line("a", ""))
	if m := s.Manifest(s.Render(), "object"); m.Fold != 1 || m.LegalHold != nil {
		t.Errorf("of a session that is not held: rules %d, held %v", m.Fold, m.LegalHold)
	}
	apply(t, s, core.KindHold, "main", "w", `{"by":"ada","why":"a lawsuit"}`)
	if m := s.Manifest(s.Render(), "object"); m.Fold != 2 || m.LegalHold == nil {
		t.Errorf("of one that is held: rules %d, held %v", m.Fold, m.LegalHold)
	}
	if err := s.CheckRemovable(); !errors.Is(err, core.ErrHeld) || !strings.Contains(err.Error(), "ada (a lawsuit)") {
		t.Errorf("removable: %v", err)
	}
	if s.CheckWritable() != nil {
		t.Errorf("writable: %v", s.CheckWritable())
	}
	restoreIt(t, s)
	apply(t, s, core.KindUnhold, "main", "w", `{}`)
	if s.CheckRemovable() != nil {
		t.Errorf("released: %v", s.CheckRemovable())
	}
}

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
		// What is too long for a name is none.
		`{"message":{"model":"` + strings.Repeat("x", 200) + `"}}`: `{"message":{"model":"?"}}`,
	} {
		got, err := core.Redact([]byte(in), "?")
		if err != nil || string(got) != want {
			t.Errorf("%s\n is %s\nwant %s (%v)", in, got, want, err)
		}
	}
	for _, in := range []string{``, `[]`, `"x"`, `{"a":1`, `{} {}`} {
		if _, err := core.Redact([]byte(in), "?"); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// Whatever the line, what is left of it is a JSON object, and blank.
func FuzzBlank(f *testing.F) {
	f.Add([]byte(`{"message":{"content":[{"type":"text","text":"x"},1,"x",[2]]}}`), "gone")
	f.Add([]byte(`{"content":[[[]]],"\ud800":"\ud800"}`), "\xff")
	f.Fuzz(func(t *testing.T, in []byte, text string) {
		once, err := core.Redact(in, text)
		if err != nil {
			if !errors.Is(err, core.ErrInvalid) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		twice, err := core.Redact(once, text)
		if err != nil || string(twice) != string(once) {
			t.Errorf("%s\nis %s\nand then %s (%v)", in, once, twice, err)
		}
	})
}
