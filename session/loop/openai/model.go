package openai

import (
	"context"
	"errors"
	"fmt"
	"io"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sesslog/sesslog/session/loop"
)

// A Model is one model of a server.
type Model struct {
	name string
	api  sdk.ChatCompletionService
}

var _ loop.Streamer = (*Model)(nil)

// New returns the model called name. Without options, the server and the key are
// those of the environment: OPENAI_BASE_URL and OPENAI_API_KEY.
func New(name string, o ...option.RequestOption) *Model {
	return &Model{name, sdk.NewChatCompletionService(append(sdk.DefaultClientOptions(), o...)...)}
}

// errNoChoice is a response without a reply.
var errNoChoice = errors.New("the response has no choices")

// Complete implements loop.Model.
func (m *Model) Complete(ctx context.Context, q loop.Request) (loop.Reply, error) {
	p, err := m.params(q)
	if err != nil {
		return loop.Reply{}, err
	}
	done, err := m.api.New(ctx, p)
	if err != nil {
		return loop.Reply{}, explained(err)
	}
	return reply(done, done.JSON.Usage.Valid())
}

// Stream implements loop.Streamer. A stream that ends before its reply does is the
// error io.ErrUnexpectedEOF.
func (m *Model) Stream(ctx context.Context, q loop.Request, show func(loop.Delta)) (loop.Reply, error) {
	p, err := m.params(q)
	if err != nil {
		return loop.Reply{}, err
	}
	p.StreamOptions.IncludeUsage = sdk.Bool(true)
	s := m.api.NewStreaming(ctx, p)
	defer s.Close()
	var whole sdk.ChatCompletionAccumulator
	usage := false
	for s.Next() {
		chunk := s.Current()
		if !whole.AddChunk(chunk) {
			return loop.Reply{}, fmt.Errorf("a chunk of the stream does not follow the one before it: %.200s", chunk.RawJSON())
		}
		usage = usage || chunk.JSON.Usage.Valid()
		showChunk(chunk, show)
	}
	if err := s.Err(); err != nil {
		return loop.Reply{}, explained(err)
	}
	if len(whole.Choices) == 0 || whole.Choices[0].FinishReason == "" {
		return loop.Reply{}, fmt.Errorf("the stream ended before the reply: %w", io.ErrUnexpectedEOF)
	}
	return reply(&whole.ChatCompletion, usage)
}

// explained adds what the server says to an error, of which the library says only the
// status.
func explained(err error) error {
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Message != "" {
		return fmt.Errorf("%w: %.500s", err, e.Message)
	}
	return err
}

func showChunk(c sdk.ChatCompletionChunk, show func(loop.Delta)) {
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if choice.Delta.Content != "" {
			show(loop.Delta{Text: choice.Delta.Content})
		}
		for _, call := range choice.Delta.ToolCalls {
			show(loop.Delta{Call: int(call.Index), ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
	}
}

// reply returns the first choice of a completion.
func reply(c *sdk.ChatCompletion, usage bool) (loop.Reply, error) {
	if len(c.Choices) == 0 {
		return loop.Reply{}, errNoChoice
	}
	first := c.Choices[0]
	r := loop.Reply{Text: first.Message.Content, Finish: loop.Finish(first.FinishReason)}
	if usage {
		r.Usage = &loop.Usage{Prompt: c.Usage.PromptTokens, Completion: c.Usage.CompletionTokens, Total: c.Usage.TotalTokens}
	}
	for _, call := range first.Message.ToolCalls {
		r.Calls = append(r.Calls, loop.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return r, nil
}
