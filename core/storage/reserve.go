package storage

import "context"

type reserveKey struct{}

// WithReserve lets an append use the space that a log keeps for repairs and
// administration: a Log that refuses new entries because it is nearly full takes
// a record that is appended with this context.
func WithReserve(ctx context.Context) context.Context {
	return context.WithValue(ctx, reserveKey{}, true)
}

// UsesReserve reports whether ctx was made by WithReserve.
func UsesReserve(ctx context.Context) bool { return ctx.Value(reserveKey{}) != nil }
