package follow

import (
	"context"
	"io"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

// A Node is the part of the API client that this package uses. *api.Client
// implements it.
type Node interface {
	Log() session.Log
	Announcer() *session.Announcer
	Append(ctx context.Context, id string, lines []byte, o client.AppendOptions) (core.Receipt, error)
	Amend(ctx context.Context, id, entry string, line []byte, o client.AppendOptions) (api.Amended, error)
	Move(ctx context.Context, id, head string, r api.MoveRequest, writer string) (api.Info, error)
	Import(ctx context.Context, file io.Reader, size int64, o client.ImportOptions) (api.Imported, error)
	PutBlob(ctx context.Context, b []byte) error
	Claim(ctx context.Context, id string, r core.ClaimRequest) (api.Claimed, error)
	Release(ctx context.Context, id, head, writer string) error
	Heads(ctx context.Context, id string) (api.Heads, error)
	Follow(ctx context.Context, id string, after core.Cursor, wait bool, f func(api.Event) error) error
	List(ctx context.Context, o catalog.Filter) (api.List, error)
}
