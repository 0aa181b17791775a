package operator

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// timeText is a timestamp as text: a number as it is written, the text of a
// string, or empty for any other value.
func timeText(v jsjson.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	if _, ok := v.Number(); ok {
		return string(v)
	}
	return ""
}

// isTime reports whether Operator accepts v as a time: a number, also in
// quotes. Operator uses the time of reading if there is none.
func isTime(v jsjson.Value) bool {
	if v == nil {
		return true
	}
	_, ok := parseSeconds(timeText(v))
	return ok
}

// parseSeconds reads a number; out of range it is infinite.
func parseSeconds(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// madeAt is when e was made, for sorting. An entry without a time is later
// than all others: Operator gives it the time at which it reads the file.
func madeAt(e core.Entry) float64 {
	if f, ok := parseSeconds(e.Time); ok {
		return f
	}
	return math.Inf(1)
}

// The years 1 to 9999, in seconds since 1970.
const earliest, latest = -62135596800, 253402300800

// instant is text as a time, and false if it is none or out of range.
func instant(text string) (time.Time, bool) {
	f, ok := parseSeconds(text)
	if !ok || f < earliest || f >= latest {
		return time.Time{}, false
	}
	return time.UnixMicro(int64(math.Round(f * 1e6))).UTC(), true
}

// toISO is text as ISO 8601 in milliseconds, or empty if it is not a time.
func toISO(text string) string {
	t, ok := instant(text)
	if !ok || t.Year() > 9999 {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.000Z")
}

// number is a time as Operator writes it. It takes ISO 8601, to the
// microsecond, and a number that Operator wrote.
func number(text string) (string, bool) {
	if _, ok := parseSeconds(text); ok {
		return text, jsontext.Value(text).IsValid()
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "", false
	}
	s := strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s, true
}
