package modelproc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sesslog/sesslog/session/loop"
)

// Serve answers one request of a Model, whose process it ends with: when r ends, Serve
// gives the request up. open returns the model with a name.
func Serve(ctx context.Context, r io.Reader, w io.Writer, open func(name string) (loop.Streamer, error)) error {
	var q question
	d := json.NewDecoder(r)
	if err := d.Decode(&q); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, r) // until the process that asks ends
		cancel()
	}()
	e := json.NewEncoder(w)
	reply, err := ask(ctx, q, open, func(piece loop.Delta) { _ = e.Encode(answer{Delta: &piece}) }) // r ends then, too
	if err != nil {
		return e.Encode(answer{Error: err.Error()})
	}
	return e.Encode(answer{Reply: &reply})
}

func ask(ctx context.Context, q question, open func(string) (loop.Streamer, error), show func(loop.Delta)) (loop.Reply, error) {
	m, err := open(q.Model)
	if err != nil {
		return loop.Reply{}, err
	}
	if q.Stream {
		return m.Stream(ctx, q.Request, show)
	}
	return m.Complete(ctx, q.Request)
}
