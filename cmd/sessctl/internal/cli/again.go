package cli

import (
	"context"
	"errors"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// Retry calls f until the outcome is known or ctx ends. Use it only for idempotent
// requests.
func Retry[T any](ctx context.Context, f func() (T, error)) (T, error) {
	for {
		out, err := f()
		if !errors.Is(err, core.ErrUncertain) || retry.Wait(ctx, 300*time.Millisecond) != nil {
			return out, err
		}
	}
}
