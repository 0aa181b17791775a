package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// append stores a row. When it returns nil, the row is durable. A row that the
// session keeps although the log did not take it yet is part of the state: the next
// Run sends it first.
func (l *Loop) append(ctx context.Context, m Message, n note) error {
	line := m.chunk().Line(len(l.st.Messages))
	if m.Role == Assistant {
		var err error
		if line, err = n.line(line); err != nil {
			return err
		}
	}
	ids, err := l.s.AppendLine(ctx, line)
	err = l.durable(ctx, err)
	if len(ids) == 0 {
		return err
	}
	e, _ := l.s.Entry(ids[0])
	l.mu.Lock()
	defer l.mu.Unlock()
	if bad := l.st.add(e); bad != nil {
		return bad
	}
	return err
}

// appendResult stores the row of a call, or an error row if the result is larger
// than the log takes.
func (l *Loop) appendResult(ctx context.Context, p Pending, text string) error {
	m := Message{Role: ToolResult, CallID: p.ID, Name: p.Name, Text: text}
	err := l.append(ctx, m, note{})
	if !errors.Is(err, core.ErrTooLarge) {
		return err
	}
	m.Text = ErrorText(&Failure{Kind: resultTooLarge, Message: fmt.Sprintf("the result of tool '%s' has %d bytes, which the log does not store", p.Name, len(text))})
	return l.append(ctx, m, note{})
}

// start notes, before a call runs, that it is started. When it returns nil, the
// note is durable.
func (l *Loop) start(ctx context.Context, p Pending) error {
	l.mu.RLock()
	line, id, started := l.st.line, l.st.reply, append(slices.Clip(l.st.started), p.Index)
	l.mu.RUnlock()
	_, n, err := readRow(line)
	if err != nil {
		return err
	}
	n.Started = started
	if line, err = n.line(line); err != nil {
		return err
	}
	err = untilReached(ctx, l.c.RetryFor, func() error { return l.s.AmendLine(ctx, line) })
	if err != nil {
		return fmt.Errorf("note the start of call %q in row %s: %w", p.ID, id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.st.started, l.st.line = started, line
	return nil
}

// durable takes the result of a write, and sends what the session could not store
// until the log has it.
func (l *Loop) durable(ctx context.Context, err error) error {
	if !temporary(err) {
		return err
	}
	return untilReached(ctx, l.c.RetryFor, func() error { return l.s.Flush(ctx) })
}

// untilReached repeats f while the log cannot be reached or its answer is lost, for
// the time limit.
func untilReached(ctx context.Context, limit time.Duration, f func() error) error {
	began := time.Now()
	for {
		err := f()
		if !temporary(err) || time.Since(began) >= limit {
			return err
		}
		if retry.PauseSince(ctx, began) != nil {
			return err
		}
	}
}

func temporary(err error) bool {
	return errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain)
}
