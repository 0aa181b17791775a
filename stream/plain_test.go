package stream_test

import (
	"context"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// full returns l with all that the protocol needs of it.
func full(l core.Log) stream.EngineLog {
	if all, ok := l.(stream.EngineLog); ok {
		return all
	}
	if p, ok := l.(core.Prover); ok {
		return proved{stream.Plain(l), p}
	}
	return stream.Plain(l)
}

// A proved log has its own proofs.
type proved struct {
	stream.EngineLog
	prover core.Prover
}

func (l proved) Prove(ctx context.Context, id core.SessionID, last core.Pos) error {
	return l.prover.Prove(ctx, id, last)
}
