package nova

import "time"

// Nova writes times as Python's isoformat of UTC: no zone, microseconds.
const layout = "2006-01-02T15:04:05.000000"

// novaTime returns an ISO 8601 time as Nova writes it, and any other text as
// it is.
func novaTime(s string) string {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return s
	}
	return t.UTC().Format(layout)
}

// isoTime returns a time of Nova's as ISO 8601 with milliseconds and Z. Text
// that is no time is empty.
func isoTime(s string) string {
	t, err := time.Parse("2006-01-02T15:04:05", s) // takes any fraction
	if err != nil {
		t, err = time.Parse(time.RFC3339Nano, s)
	}
	if err != nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
