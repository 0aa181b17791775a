package engine_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/engine"
)

// Amending a message that has an image leaves the image unchanged.
func TestAmendKeepsImages(t *testing.T) {
	_, ss, _ := inMemory()
	s := createOperator(t, ss)
	image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("image"), 400))
	line := `{"type":"message","id":"m1","parent_id":null,"timestamp":2.5,"message":{"role":"user","contents":[{"type":"image","images":["data:image/png;base64,` +
		image + `"]},{"type":"image","data":"blob:the agent's own"}]},"meta":{"channel_message_id":"c1"}}`
	mustAppend(t, s, "", "", line)
	_, err := s.Amend(t.Context(), engine.Amend{Change: func(st *core.State) ([]core.Entry, error) {
		e, err := operator.WithReaction(st.Entries, "c1", "+1")
		return []core.Entry{e}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := state(t, s).Entry("m1")
	got, err := ss.Inline(t.Context(), e.Line)
	want := strings.Replace(line, `"c1"}`, `"c1","reactions":["+1"]}`, 1)
	if err != nil || string(got) != want {
		t.Errorf("the line is %.300s, %v", got, err)
	}
}
