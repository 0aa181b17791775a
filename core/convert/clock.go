package convert

import "time"

// clock is the time that a session gets, and what in it has none: that of the
// request, else the first that an entry has, else the beginning of 1970.
func clock(q Request) string {
	if _, err := time.Parse(time.RFC3339Nano, q.Time); err == nil {
		return q.Time
	}
	for _, e := range q.Entries {
		for _, it := range q.From.Read(e) {
			if it.Time != "" {
				return it.Time
			}
		}
	}
	return "1970-01-01T00:00:00.000Z"
}
