package engine

import (
	"context"

	"github.com/sesslog/sesslog/core"
)

// Has returns nil where the log has a record of the session, in the trash or
// erased as it may be, and core.ErrNotFound where it has none.
func (ss *Sessions) Has(ctx context.Context, id core.SessionID) error {
	_, err := ss.lastOf(ctx, id)
	return err
}
