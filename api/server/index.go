package server

import (
	"context"
	"iter"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// Directory is what a Server lists and searches. index.Index implements it; its
// methods are documented there. It is an interface so that programs that import the
// client link no database.
type Directory interface {
	List(ctx context.Context, f materializer.Filter) (materializer.Page, error)
	Search(ctx context.Context, q materializer.SearchQuery) (materializer.SearchPage, error)
	Prompts(ctx context.Context, q materializer.PromptQuery) (materializer.PromptPage, error)
	Changes(ctx context.Context, f materializer.Filter, after materializer.Mark, limit int) ([]materializer.Change, materializer.Mark, error)
	Changed() <-chan struct{}
	Rows(ctx context.Context) iter.Seq2[materializer.Row, error]
	Kin(ctx context.Context, id core.SessionID) ([]materializer.Row, error)
	Seq(id core.SessionID) uint64
	Len() int
}
