package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/engine"
)

// Appends measures appends for d each with 1 and with 64 writers: raw publishing
// with a sequence check, one session per writer, and one session for all writers.
func (r *Rig) Appends(ctx context.Context, d time.Duration) ([]Result, error) {
	var out []Result
	for _, writers := range []int{1, 64} {
		raw, err := measure(ctx, rawName, writers, d, ownTime, r.rawWriter)
		if err != nil {
			return nil, err
		}
		own, err := measure(ctx, "append, a session each", writers, d, ownTime, r.sessionWriter(fmt.Sprintf("own-%d", writers), true))
		if err != nil {
			return nil, err
		}
		out = append(out, raw, own.relativeTo(raw))
		if writers == 1 {
			continue
		}
		shared, err := measure(ctx, "append, one session for all", writers, d, ownTime, r.sessionWriter(fmt.Sprintf("shared-%d", writers), false))
		if err != nil {
			return nil, err
		}
		out = append(out, shared.relativeTo(raw))
	}
	return out, nil
}

// rawWriter publishes messages, each with the expected last sequence.
func (r *Rig) rawWriter(_ context.Context, i int) (writer, error) {
	subject := fmt.Sprintf("raw.%d.%d-%d", i%rawShards, i, time.Now().UnixNano())
	return publisher(r.js, subject, lines(uint64(i))), nil
}

func (r *Rig) sessionWriter(prefix string, own bool) func(context.Context, int) (writer, error) {
	var shared *engine.Session
	return func(ctx context.Context, i int) (writer, error) {
		s := shared
		if s == nil {
			var err error
			if s, err = r.session(ctx, fmt.Sprintf("bench-%s-%d-%d", prefix, i, time.Now().UnixNano()), nil); err != nil {
				return nil, err
			}
			if !own {
				shared = s
			}
		}
		next := lines(uint64(i))
		return func(ctx context.Context) error {
			_, err := s.Append(ctx, engine.Append{Lines: [][]byte{next()}})
			return err
		}, nil
	}
}
