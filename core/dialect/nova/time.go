package nova

import "time"

// Time writes t as Nova does: UTC, microseconds, no zone.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }

// ParseTime reads a time with or without a zone; without one it is UTC.
func ParseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// toNova is an ISO 8601 time as Nova writes it. Other text is returned
// unchanged.
func toNova(iso string) string {
	t, ok := ParseTime(iso)
	if !ok {
		return iso
	}
	return Time(t)
}

// toISO is a time of Nova in milliseconds with Z, or empty if it is none.
func toISO(s string) string {
	t, ok := ParseTime(s)
	if !ok {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.000Z")
}
