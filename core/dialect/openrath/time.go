package openrath

import "time"

// The formats in which Python's isoformat writes a time, and others that its
// fromisoformat accepts. A time without an offset is in UTC.
var timeLayouts = []string{
	"2006-01-02T15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02",
}

func parseTime(s string) (time.Time, bool) {
	if len(s) > 64 {
		return time.Time{}, false
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// FormatTime returns t as OpenRath writes it, in UTC.
func FormatTime(t time.Time) string {
	t = t.UTC().Truncate(time.Microsecond)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05+00:00")
	}
	return t.Format("2006-01-02T15:04:05.000000+00:00")
}

// asPython is s as OpenRath writes a time. Other text is returned unchanged.
func asPython(s string) string {
	if t, ok := parseTime(s); ok {
		return FormatTime(t)
	}
	return s
}

// asISO is s in milliseconds, or empty if it is not a time.
func asISO(s string) string {
	t, ok := parseTime(s)
	if !ok {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.000Z")
}
