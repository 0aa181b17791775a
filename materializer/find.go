package materializer

import (
	"context"

	"github.com/sesslog/sesslog/session"
)

// Find implements stream.Finder: it waits until the directory has all that was
// stored before, or ctx ends.
func (m *Materializer) Find(ctx context.Context, q session.Query) ([]session.Found, error) {
	if err := m.CatchUp(ctx); err != nil {
		return nil, err
	}
	page, err := m.cfg.Directory.List(ctx, Filter{CWD: q.CWD, Dialect: q.Dialect, Text: q.Text, Limit: q.Limit})
	if err != nil {
		return nil, err
	}
	found := make([]session.Found, len(page.Rows))
	for i, r := range page.Rows {
		found[i] = session.Found{ID: r.ID, Dialect: r.Dialect, CWD: r.CWD, Summary: r.Summary}
	}
	return found, nil
}
