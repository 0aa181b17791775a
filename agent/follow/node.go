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

// A Node is the part of the API client that this package uses. *client.Client
// implements it.
type Node interface {
	Reader
	Writer
	Claims
}

// A Reader reads sessions and their listing.
type Reader interface {
	Log() session.Log
	List(ctx context.Context, o catalog.Filter) (api.List, error)
	Heads(ctx context.Context, id string) (api.Heads, error)
	Follow(ctx context.Context, id string, after core.Cursor, wait bool, f func(api.Event) error) error
}

// A Writer stores lines, files and images, and moves heads.
type Writer interface {
	Append(ctx context.Context, id string, lines []byte, o client.AppendOptions) (core.Receipt, error)
	Amend(ctx context.Context, id, entry string, line []byte, o client.AppendOptions) (api.Amended, error)
	Move(ctx context.Context, id, head string, r api.MoveRequest, writer string) (api.Info, error)
	Import(ctx context.Context, file io.Reader, size int64, o client.ImportOptions) (api.Imported, error)
	PutBlob(ctx context.Context, b []byte) error
}

// Claims makes and releases claims, and announces that their holder is active.
type Claims interface {
	Announcer() *session.Announcer
	Claim(ctx context.Context, id string, r core.ClaimRequest) (api.Claimed, error)
	Release(ctx context.Context, id, head, writer string) error
}
