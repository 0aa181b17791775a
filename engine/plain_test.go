package engine_test

import (
	"context"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// full returns l with the optional interfaces that the protocol uses.
func full(l core.Log) engine.Log {
	if all, ok := l.(engine.Log); ok {
		return all
	}
	if p, ok := l.(core.Prover); ok {
		return proved{engine.Plain(l), p}
	}
	return engine.Plain(l)
}

// A proved log has its own proofs.
type proved struct {
	engine.Log
	prover core.Prover
}

func (l proved) Prove(ctx context.Context, id core.SessionID, last core.Pos) error {
	return l.prover.Prove(ctx, id, last)
}
