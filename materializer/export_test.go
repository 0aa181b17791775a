package materializer

import (
	"context"
	"math"

	"github.com/sesslog/sesslog/core"
)

// Survey reads every message of a shard, and returns how many bytes are live and how
// many are garbage.
func (m *Materializer) Survey(ctx context.Context, shard int) (live, garbage int64, err error) {
	st, err := m.cfg.Log.State(ctx, shard)
	if err != nil {
		return 0, 0, err
	}
	v, err := m.survey(ctx, shard, st)
	if err != nil {
		return 0, 0, err
	}
	p := v.plan(math.MaxInt64/4, func(core.SessionID) bool { return false })
	return p.live, p.garbage, nil
}
