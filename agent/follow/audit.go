package follow

import (
	"context"
	"time"

	"github.com/sesslog/sesslog/session/catalog"
)

// auditInterval is how often the state is compared with a listing of the log.
const auditInterval = time.Hour

// audit compares the state with a listing of the log: after a node answers, and
// then once per interval. A session that the log lacks, or has less of, is
// compared in full. So a log that was created again, or lost records, gets
// them back.
func (fl *Follower) audit(ctx context.Context) {
	for {
		wait := auditInterval
		one, cancel := context.WithTimeout(ctx, requestTimeout(0))
		if err := fl.auditOnce(one); err != nil {
			wait = maxPause
		}
		cancel()
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		case <-fl.scan.audits:
			t.Stop()
		}
	}
}

func (fl *Follower) auditOnce(ctx context.Context) error {
	places := map[*file]place{}
	for _, f := range fl.known() {
		// The listing may lag behind recent writes.
		if p := f.shownPlace(); p.Session != "" && time.Since(time.Unix(0, p.Seen)) > time.Minute {
			places[f] = p
		}
	}
	if len(places) == 0 {
		return nil
	}
	seqs, err := fl.listSessions(ctx)
	if err != nil {
		return err
	}
	for f, p := range places {
		if seq, has := seqs[string(f.session())]; !has || seq < p.Cursor.Seq {
			f.forceCompare()
			fl.enqueue(f)
		}
	}
	return nil
}

// listSessions returns the last sequence number of every session.
func (fl *Follower) listSessions(ctx context.Context) (map[string]uint64, error) {
	seqs := map[string]uint64{}
	for after := ""; ; {
		page, err := fl.cfg.Node.List(ctx, catalog.Filter{After: after, Limit: 1000})
		if err != nil {
			return nil, err
		}
		for _, row := range page.Sessions {
			seqs[string(row.ID)] = row.Seq
		}
		if after = page.Next; after == "" {
			return seqs, nil
		}
	}
}
