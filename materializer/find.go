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
	rows, _ := m.cfg.Directory.List(Filter{CWD: q.CWD, Dialect: q.Dialect, Text: q.Text, Limit: q.Limit})
	found := make([]session.Found, len(rows))
	for i, r := range rows {
		found[i] = session.Found{ID: r.ID, Dialect: r.Dialect, CWD: r.CWD, Summary: r.Summary}
	}
	return found, nil
}
