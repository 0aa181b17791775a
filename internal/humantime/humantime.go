package humantime

import (
	"fmt"
	"time"
)

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

// Since returns how long ago t was in one unit, such as "5m ago", for a week. Before
// that it returns the date. It is empty for the zero time.
func Since(t, now time.Time) string {
	age := now.Sub(t)
	switch {
	case t.IsZero():
		return ""
	case age < time.Minute:
		return "now"
	case age < time.Hour:
		return fmt.Sprintf("%dm ago", age/time.Minute)
	case age < day:
		return fmt.Sprintf("%dh ago", age/time.Hour)
	case age < 7*day:
		return fmt.Sprintf("%dd ago", age/day)
	case t.Local().Year() == now.Local().Year():
		return t.Local().Format("Jan 02")
	}
	return t.Local().Format("2006-01-02")
}

const day = 24 * time.Hour
