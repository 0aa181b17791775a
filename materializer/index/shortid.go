package index

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sesslog/sesslog/core"
)

// minShortID is the least length of a short id, so that one stays unambiguous
// for a while in a log that grows.
const minShortID = 4

// ShortIDs returns a short id for each of ids: its shortest beginning that no other
// session has, in its id or in its agent's own id. It has at least four characters.
// Only sessions whose ids begin with within count, including deleted ones; ids
// begin with it, too.
func (x *Index) ShortIDs(ctx context.Context, within string, ids []core.SessionID) (map[core.SessionID]string, error) {
	short := make(map[core.SessionID]string, len(ids))
	err := x.read(ctx, "the search for short ids", func(ctx context.Context, tx *sql.Tx) error {
		next, err := tx.PrepareContext(ctx, neighbors)
		if err != nil {
			return err
		}
		defer next.Close()
		for _, id := range ids {
			if _, ok := short[id]; ok {
				continue
			}
			if short[id], err = shortID(ctx, next, within, string(id)); err != nil {
				return err
			}
		}
		return nil
	})
	return short, err
}

// neighbors selects the ids next to ?1, of sessions whose ids begin with ?2: these
// share the longest beginning with it. No string with prefix ?2 is greater than ?3.
const neighbors = `SELECT max(id) AS id FROM sessions WHERE id < ?1 AND id >= ?2
	UNION ALL SELECT min(id) FROM sessions WHERE id > ?1 AND id < ?3
	UNION ALL SELECT max(agent_id) FROM sessions INDEXED BY by_agent_id WHERE agent_id <> '' AND agent_id <= ?1 AND id <> ?1 AND id >= ?2 AND id < ?3
	UNION ALL SELECT min(agent_id) FROM sessions INDEXED BY by_agent_id WHERE agent_id <> '' AND agent_id >= ?1 AND id <> ?1 AND id >= ?2 AND id < ?3`

func shortID(ctx context.Context, neighbors *sql.Stmt, within, id string) (string, error) {
	rows, err := neighbors.QueryContext(ctx, id, within, within+"\U0010FFFF")
	if err != nil {
		return "", err
	}
	n := minShortID
	for rows.Next() {
		var other sql.NullString
		if err := rows.Scan(&other); err != nil {
			return "", errors.Join(err, rows.Close())
		}
		if other.Valid {
			n = max(n, common(id, other.String)+1)
		}
	}
	return id[:min(n, len(id))], errors.Join(rows.Err(), rows.Close())
}

// common returns the length of the longest common prefix of a and b.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
