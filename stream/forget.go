package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// Forget takes a session's records up to upTo out of the log and returns how
// many there were. The caller has made sure that nobody needs them, and that the
// session has a later one. This goes by subject, which holds up the shard's
// writers for a moment: it is for a session here and there that must go at once.
// For room, drop a prefix (see Truncate). The servers answer nothing of those
// records from then on. Their bytes stay on the servers' disks until the part of
// the stream's files that they are in is written anew or dropped.
func (l *Log) Forget(ctx context.Context, id core.SessionID, upTo core.Pos) (uint64, error) {
	ask, err := json.Marshal(map[string]any{"filter": l.subject(id), "seq": uint64(upTo) + 1})
	if err != nil {
		return 0, err
	}
	var purged uint64 // an earlier try, whose answer was lost, may have purged the rest
	for {
		n, err := l.purge(ctx, id, ask)
		purged += n
		if err == nil || !errors.Is(err, errBusy) {
			return purged, err
		}
		if retry.Pause(ctx) != nil {
			return purged, err
		}
	}
}

// purgeWait bounds one try of a purge, which reads the blocks that the session is
// in.
const purgeWait = 30 * time.Second

func (l *Log) purge(ctx context.Context, id core.SessionID, ask []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, purgeWait)
	defer cancel()
	reply, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.PURGE."+streamName(l.cfg.Name, l.Shard(id)), ask)
	if err != nil {
		return 0, readEdge(err)
	}
	var got struct {
		Purged uint64 `json:"purged"`
		Error  *struct {
			Code        int    `json:"code"`
			ErrCode     int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &got); err != nil {
		return 0, fmt.Errorf("the server's answer to a purge: %v: %w", err, core.ErrUnavailable)
	}
	if got.Error != nil {
		return 0, fmt.Errorf("records of session %s: %w", id, apiEdge(got.Error.ErrCode, got.Error.Code, got.Error.Description))
	}
	return got.Purged, nil
}
