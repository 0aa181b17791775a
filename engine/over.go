package engine

import "github.com/sesslog/sesslog/core"

// WithLog returns sessions that are those of ss over another log, and with other
// blobs: what is done to them is done there. Nobody observes it.
func (ss *Sessions) WithLog(log Log, blobs core.Blobs) *Sessions {
	cfg := ss.cfg
	cfg.Log, cfg.Blobs, cfg.Observer = log, blobs, Observer{}
	return NewSessions(cfg)
}

// WithSnapshots returns sessions that are those of ss and have their snapshots from elsewhere.
func (ss *Sessions) WithSnapshots(snapshots Snapshots) *Sessions {
	cfg := ss.cfg
	cfg.Snapshots = snapshots
	return NewSessions(cfg)
}
