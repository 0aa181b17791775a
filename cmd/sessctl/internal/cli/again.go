package cli

import (
	"context"
	"errors"
	"time"

	"github.com/sesslog/sesslog/core"
)

// Retry calls f until the outcome is known or ctx ends. Use it only for idempotent
// requests.
func Retry[T any](ctx context.Context, f func() (T, error)) (T, error) {
	for {
		out, err := f()
		if !errors.Is(err, core.ErrUncertain) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(300 * time.Millisecond):
		}
	}
}
