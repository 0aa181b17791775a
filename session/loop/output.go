package loop

import (
	"context"
	"sync"
)

// An Output is a run under way. Its session, with its id, its parents and its
// sandbox, is known at once; its rows and its usage are there when the run is over.
// The methods are safe for concurrent use.
type Output struct {
	l      *Loop
	done   chan struct{}
	result Result

	mu  sync.Mutex
	err error
}

// Go starts Run and returns its output.
func (l *Loop) Go(ctx context.Context) *Output {
	o := &Output{l: l, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.result, o.err = l.Run(ctx)
	}()
	return o
}

// Loop returns the loop that runs.
func (o *Output) Loop() *Loop { return o.l }

// Synchronize waits until the run is over, or ctx ends. The first call after the
// run returns its error, later ones return nil. In a tool of the run itself it
// returns nil at once.
func (o *Output) Synchronize(ctx context.Context) error {
	if inToolOf(ctx, o.l) {
		return nil
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.err
	o.err = nil
	return err
}

// Messages waits as Synchronize does, and returns the rows. In a tool of the run
// itself it returns those so far.
func (o *Output) Messages(ctx context.Context) ([]Message, error) {
	if err := o.Synchronize(ctx); err != nil {
		return nil, err
	}
	return o.l.Messages(), nil
}

// Result waits as Synchronize does, and returns how the run ended: without a reason
// if it failed.
func (o *Output) Result(ctx context.Context) (Result, error) {
	if err := o.Synchronize(ctx); err != nil {
		return Result{}, err
	}
	select {
	case <-o.done:
		return o.result, nil
	default: // a tool of the run asks
		return Result{}, nil
	}
}
