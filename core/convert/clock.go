package convert

import "time"

// clock is the time of the new session and of whatever has no time:
// that of the request, otherwise the first time of an entry, otherwise the
// beginning of 1970.
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
