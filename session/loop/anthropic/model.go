package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/sesslog/sesslog/session/loop"
)

// MaxTokens is how long a reply is at most. option.WithJSONSet("max_tokens", n)
// changes it.
const MaxTokens = 8192

// A Model is one model of a server.
type Model struct {
	name string
	api  sdk.MessageService
}

var _ loop.Streamer = (*Model)(nil)

// New returns the model called name. Without options, the server and the key are
// those of the environment: ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY.
func New(name string, o ...option.RequestOption) *Model {
	return &Model{name, sdk.NewMessageService(append(sdk.DefaultClientOptions(), o...)...)}
}

// errNoReply is a response without a reply.
var errNoReply = errors.New("the response is not a whole message")

// Complete implements loop.Model.
func (m *Model) Complete(ctx context.Context, q loop.Request) (loop.Reply, error) {
	done, err := m.api.New(ctx, m.params(q))
	if err != nil {
		return loop.Reply{}, err
	}
	if done.StopReason == "" {
		return loop.Reply{}, errNoReply
	}
	return reply(done, nil), nil
}

// Stream implements loop.Streamer. A stream that ends before its reply does is the
// error io.ErrUnexpectedEOF.
func (m *Model) Stream(ctx context.Context, q loop.Request, show func(loop.Delta)) (loop.Reply, error) {
	s := m.api.NewStreaming(ctx, m.params(q))
	defer s.Close()
	r := reader{show: show, input: map[int64]string{}}
	for s.Next() {
		if err := r.add(s.Current()); err != nil {
			return loop.Reply{}, err
		}
	}
	if err := s.Err(); err != nil {
		return loop.Reply{}, err
	}
	if !r.ended || r.whole.StopReason == "" {
		return loop.Reply{}, fmt.Errorf("the stream ended before the reply: %w", io.ErrUnexpectedEOF)
	}
	return reply(&r.whole, r.input), nil
}

// A reader reads a stream.
type reader struct {
	show  func(loop.Delta)
	whole sdk.Message
	input map[int64]string // arguments of calls, which the library replaces if they are no JSON
	ended bool
}

func (r *reader) add(e sdk.MessageStreamEventUnion) error {
	if (e.Type == "message_start") != (r.whole.ID == "") || r.ended {
		return fmt.Errorf("an event of the stream does not follow the one before it: %.200s", e.RawJSON())
	}
	if err := r.whole.Accumulate(e); err != nil {
		return err
	}
	r.ended = e.Type == "message_stop"
	switch e.Type {
	case "content_block_start":
		if b := e.ContentBlock; b.Type == "tool_use" {
			r.show(loop.Delta{Call: r.call(e.Index), ID: b.ID, Name: b.Name})
		}
	case "content_block_delta":
		switch d := e.Delta; d.Type {
		case "text_delta":
			r.show(loop.Delta{Text: d.Text})
		case "input_json_delta":
			r.input[e.Index] += d.PartialJSON
			r.show(loop.Delta{Call: r.call(e.Index), Arguments: d.PartialJSON})
		}
	}
	return nil
}

// call returns which call the block at an index is.
func (r *reader) call(index int64) (n int) {
	for _, b := range r.whole.Content[:index] {
		if b.Type == "tool_use" {
			n++
		}
	}
	return n
}

// reply returns a message as the loop has it. Arguments in input replace those of the
// message. A call at the end of a reply that reached its limit is left out: its
// arguments may lack their end.
func reply(m *sdk.Message, input map[int64]string) loop.Reply {
	r := loop.Reply{Finish: finish(m.StopReason)}
	for i, b := range m.Content {
		switch b.Type {
		case "text":
			r.Text += b.Text
		case "tool_use":
			if r.Finish == loop.FinishLength && i == len(m.Content)-1 {
				continue
			}
			c := loop.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)}
			if text := input[int64(i)]; text != "" {
				c.Arguments = text
			}
			r.Calls = append(r.Calls, c)
		}
	}
	if m.JSON.Usage.Valid() {
		u := loop.Usage{Prompt: m.Usage.InputTokens + m.Usage.CacheCreationInputTokens + m.Usage.CacheReadInputTokens, Completion: m.Usage.OutputTokens}
		u.Total = u.Prompt + u.Completion
		r.Usage = &u
	}
	return r
}

// finish returns a stop reason by its usual name; others stay.
func finish(s sdk.StopReason) loop.Finish {
	switch s {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		return loop.FinishStop
	case sdk.StopReasonToolUse:
		return loop.FinishTools
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return loop.FinishLength
	case sdk.StopReasonRefusal:
		return loop.FinishFilter
	}
	return loop.Finish(s)
}
