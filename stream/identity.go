package stream

import (
	"context"
	"fmt"
)

// Identity tells this log from another of the same name on other servers: when
// its first stream was made, by the servers' clock, as a name of an object may be.
func (l *Log) Identity(ctx context.Context) (string, error) {
	info, err := l.shardInfo(ctx, 0)
	if err != nil {
		return "", fmt.Errorf("identity of log %s: %w", l.cfg.Name, err)
	}
	return info.Created.UTC().Format("20060102T150405.000000000Z"), nil
}
