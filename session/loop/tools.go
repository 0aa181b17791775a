package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// runTools runs the pending calls of the last reply and appends their results in
// the order of the calls. Calls with the same key run one after the other, each
// after the result of the one before it is durable.
func (l *Loop) runTools(ctx context.Context) error {
	pending := l.st.Pending()
	jobs := make([]job, len(pending))
	for i, p := range pending {
		var err error
		if jobs[i], err = l.prepare(ctx, p); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(withLoop(ctx, l))
	r := round{l: l, ctx: ctx, results: make([]chan string, len(pending)), stored: make([]chan struct{}, len(pending)), queue: make(chan struct{}, maxQueue)}
	for i := range pending {
		r.results[i], r.stored[i] = make(chan string, 1), make(chan struct{})
	}
	g.Go(func() error { return r.store(pending) })
	before := map[string]chan struct{}{} // closed when the last call with a key is stored
	for i, p := range pending {
		select {
		case r.queue <- struct{}{}:
		case <-ctx.Done():
			return g.Wait()
		}
		after := before[jobs[i].key]
		if jobs[i].tool != nil {
			before[jobs[i].key] = r.stored[i]
		}
		if jobs[i].run == nil {
			r.results[i] <- jobs[i].text
			continue
		}
		g.Go(func() error { return r.work(i, p, jobs[i], after) })
	}
	return g.Wait()
}

// maxQueue is how many calls of a round are started at most whose rows are not
// durable yet.
const maxQueue = 256

// A round is the calls of one reply under way.
type round struct {
	l       *Loop
	ctx     context.Context
	results []chan string   // the content of each row
	stored  []chan struct{} // closed when the row is durable
	queue   chan struct{}   // has an element for each call that was started and is not stored
	starts  sync.Mutex
}

// store appends the results.
func (r *round) store(pending []Pending) error {
	for i, p := range pending {
		select {
		case text := <-r.results[i]:
			if err := r.l.appendResult(r.ctx, p, text); err != nil {
				return err
			}
			close(r.stored[i])
			<-r.queue
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
	return nil
}

// work runs a call once the row of the call before it is durable; after is nil if
// there is none. If the host is about to stop, the call has no result.
func (r *round) work(i int, p Pending, j job, after <-chan struct{}) error {
	if after != nil {
		select {
		case <-after:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
	if j.tool.Policy != Repeat && !p.Started {
		if err := r.start(p); err != nil {
			return err
		}
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned && r.ctx.Err() == nil {
			r.results[i] <- ErrorText(&Failure{Kind: toolException, Message: "the tool ended its goroutine"})
		}
	}()
	text := j.run(r.ctx)
	returned = true
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.results[i] <- text
	return nil
}

func (r *round) start(p Pending) error {
	r.starts.Lock()
	defer r.starts.Unlock()
	return r.l.start(r.ctx, p)
}

// A job is how a call gets its result: by run, or text if no tool runs.
type job struct {
	tool *Tool // nil if the call has none, or no key
	key  string
	run  func(context.Context) string
	text string
}

// prepare decides by the declarations of its tool what a call does.
func (l *Loop) prepare(ctx context.Context, p Pending) (job, error) {
	t, ok := l.tools[p.Name]
	if !ok {
		return failed(&Failure{Kind: unknownTool, Message: fmt.Sprintf("unknown tool '%s'", p.Name)}), nil
	}
	if !isObject(p.Arguments) {
		return failed(&Failure{
			Kind:    invalidArguments,
			Message: fmt.Sprintf("tool '%s' returned non-JSON or unparseable arguments", p.Name),
			Detail:  cut(p.Arguments, maxArguments),
		}), nil
	}
	j := job{tool: t}
	if t.Key != nil {
		var err error
		if j.key, err = t.key(p.Call); err != nil {
			return failed(err), nil
		}
	}
	if p.Started && t.Policy != Repeat {
		again, err := l.again(ctx, t, p.Call)
		if err != nil {
			return job{}, err
		}
		if !again {
			j.text = ErrorText(&Failure{Kind: interrupted, Message: fmt.Sprintf("tool '%s' was started on a host that died; it may or may not have run", p.Name)})
			return j, nil
		}
	}
	j.run = func(ctx context.Context) string { return t.call(ctx, p.Arguments) }
	return j, nil
}

// again reports whether a call runs that may have run.
func (l *Loop) again(ctx context.Context, t *Tool, c Call) (bool, error) {
	if t.Policy == Once {
		return false, nil
	}
	if l.c.Ask == nil {
		return false, &AskError{l.s.ID(), c}
	}
	return l.c.Ask(ctx, c)
}

// failed returns the job of a call that does not run because of err. The Error method of
// err may panic.
func failed(err error) (j job) {
	defer func() {
		if v := recover(); v != nil {
			j = job{text: ErrorText(&Panic{v})}
		}
	}()
	return job{text: ErrorText(err)}
}

func isObject(arguments string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(arguments), &o) == nil && o != nil
}

// key is t.Key, whose panics are errors.
func (t *Tool) key(c Call) (key string, err error) {
	defer recovered(&err)
	return t.Key(c)
}

// call returns the content of the row of a call. The methods of a result and of an
// error can panic, too.
func (t *Tool) call(ctx context.Context, arguments string) string {
	text, err := func() (text string, err error) {
		defer recovered(&err)
		result, err := t.Run(ctx, json.RawMessage(arguments))
		if err != nil {
			return ErrorText(err), nil
		}
		return Text(result), nil
	}()
	if err != nil {
		return ErrorText(err)
	}
	return text
}

// A Panic is the error of a tool that panicked.
type Panic struct{ Value any }

func (p *Panic) Error() string { return fmt.Sprint(p.Value) }

func recovered(err *error) {
	if v := recover(); v != nil {
		*err = &Panic{v}
	}
}

type loopKey struct{}

// A frame says that a context is that of a tool in a Run of l. If a tool runs
// another loop, that one's frame is inside its own.
type frame struct {
	l     *Loop
	outer *frame
}

func frameOf(ctx context.Context) *frame {
	f, _ := ctx.Value(loopKey{}).(*frame)
	return f
}

func withLoop(ctx context.Context, l *Loop) context.Context {
	return context.WithValue(ctx, loopKey{}, &frame{l, frameOf(ctx)})
}

// inToolOf reports whether ctx is that of a tool of l, or of a loop in it.
func inToolOf(ctx context.Context, l *Loop) bool {
	for f := frameOf(ctx); f != nil; f = f.outer {
		if f.l == l {
			return true
		}
	}
	return false
}

// Transcript returns the rows so far of the session that a tool runs in, by the
// context of its Run; nil elsewhere.
func Transcript(ctx context.Context) []Message {
	f := frameOf(ctx)
	if f == nil {
		return nil
	}
	return f.l.Messages()
}
