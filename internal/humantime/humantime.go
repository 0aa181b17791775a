package humantime

import "time"

// Short returns t in local time, as briefly as now allows: the time of day today,
// else the date. It is empty for the zero time.
func Short(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	t, now = t.Local(), now.Local()
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return t.Format("15:04:05")
	case t.Year() == now.Year():
		return t.Format("Jan 02 15:04")
	}
	return t.Format("2006-01-02")
}

// Ago returns how long ago t was, such as "3s ago".
func Ago(t, now time.Time) string {
	return max(now.Sub(t), 0).Round(time.Second).String() + " ago"
}
