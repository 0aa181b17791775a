package date

import (
	"math"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Millis is new Date(v).getTime() as JSON: milliseconds since 1970, or null if
// v is not a date.
func Millis(v jsjson.Value) jsjson.Value { return jsjson.AppendNumber(nil, FromValue(v)) }

// Of is FromValue of an entry's timestamp.
func Of(e core.Entry) float64 {
	if e.Time != "" {
		return Parse(e.Time)
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return math.NaN()
	}
	return FromValue(o.Get("timestamp"))
}

// FromValue is new Date(v).getTime().
func FromValue(v jsjson.Value) float64 {
	switch v.Kind() {
	case '"':
		if len(v) > 2 {
			if ms, ok := usual(v[1 : len(v)-1]); ok {
				return ms
			}
		}
		s, _ := jsonl.Text(v)
		return Parse(s)
	case 'n', 'f':
		return 0
	case 't':
		return 1
	}
	f, ok := v.Number()
	if !ok {
		return math.NaN()
	}
	return clipDate(math.Trunc(f))
}

// clipDate returns ms, or NaN if it is out of the range of JavaScript's dates.
func clipDate(ms float64) float64 {
	if math.Abs(ms) > 8.64e15 {
		return math.NaN()
	}
	return ms
}

// ISO is new Date(ms).toISOString(), or empty if ms is not a date.
func ISO(ms float64) string {
	if math.IsNaN(clipDate(ms)) || ms < -62135596800000 || ms > 253402300799999 {
		return "" // years of other than four digits
	}
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Latest is the latest of the dates that it has seen, in milliseconds since 1970. It
// ignores NaN and what ISO cannot format. The zero Latest has seen none.
type Latest float64

// See adds a date.
func (l *Latest) See(ms float64) {
	if ms > float64(*l) && ISO(ms) != "" {
		*l = Latest(ms)
	}
}

// After returns l in the form of ISO if it is after t, which has that form, and
// otherwise nothing.
func (l Latest) After(t string) string {
	if at := ISO(float64(l)); l > 0 && at > t {
		return at
	}
	return ""
}

// Parse returns the milliseconds of an ISO 8601 date, NaN for any other
// text: a year, or year and month, or all three, with or without a time of the
// day and its offset. A time without an offset is UTC. A day that the month
// does not have is one of the next.
func Parse(s string) float64 {
	if ms, ok := usual(s); ok {
		return ms
	}
	d := dateParser{rest: s}
	ms := d.date()
	if d.rest != "" {
		ms += d.clock()
	}
	if d.bad || d.rest != "" {
		return math.NaN()
	}
	return clipDate(ms)
}

// usual is Parse of a date in the form of Date.toISOString, which nearly all are in. ok is
// false if s has another form.
func usual[T string | jsjson.Value](s T) (ms float64, ok bool) {
	const form = "0000-00-00T00:00:00.000Z"
	if len(s) != len(form) {
		return 0, false
	}
	var n [7]int64 // year, month, day, hour, minute, second, millisecond
	field := 0
	for i := range len(form) {
		switch c := s[i]; {
		case form[i] == '0' && '0' <= c && c <= '9':
			n[field] = n[field]*10 + int64(c-'0')
		case form[i] != '0' && c == form[i]:
			field++
		default:
			return 0, false
		}
	}
	year, month, day := n[0], n[1], n[2]
	if month < 1 || month > 12 || day < 1 || day > 31 || n[3] > 23 || n[4] > 59 || n[5] > 59 || year == 0 {
		return 0, false
	}
	// Years begin in March here, so that the day that leap years add is the last.
	if month < 3 {
		month, year = month+12, year-1
	}
	days := 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
	return float64(((days*24+n[3])*60+n[4])*60e3 + n[5]*1e3 + n[6]), true
}

// A dateParser reads fields from the beginning of rest. bad is set once a field
// is invalid.
type dateParser struct {
	rest string
	bad  bool
}

func (d *dateParser) date() float64 {
	year := d.year()
	month, day := 1, 1
	if d.take("-") {
		month = d.field(2, 1, 12)
		if d.take("-") {
			day = d.field(2, 1, 31)
		}
	}
	if d.bad {
		return 0
	}
	return float64(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).UnixMilli())
}

func (d *dateParser) year() int {
	switch {
	case d.take("+"):
		return d.field(6, 0, 999999)
	case d.take("-"):
		return -d.field(6, 1, 999999)
	}
	return d.field(4, 0, 9999)
}

// clock returns the milliseconds into the day, less the offset.
func (d *dateParser) clock() float64 {
	if !d.take("T") && !d.take("t") && !d.take(" ") {
		d.bad = true
	}
	ms := float64(d.field(2, 0, 24)) * 3600e3
	d.bad = d.bad || !d.take(":")
	ms += float64(d.field(2, 0, 59)) * 60e3
	if d.take(":") {
		ms += float64(d.field(2, 0, 59)) * 1e3
		if d.take(".") {
			ms += d.fraction()
		}
	}
	if ms > 24*3600e3 {
		d.bad = true
	}
	return ms - d.offset()
}

// fraction reads digits as a fraction of a second. Digits after the third do
// not count.
func (d *dateParser) fraction() float64 {
	n := 0
	for n < len(d.rest) && '0' <= d.rest[n] && d.rest[n] <= '9' {
		n++
	}
	if n == 0 {
		d.bad = true
		return 0
	}
	ms, _ := strconv.Atoi((d.rest[:min(n, 3)] + "00")[:3])
	d.rest = d.rest[n:]
	return float64(ms)
}

func (d *dateParser) offset() float64 {
	sign := 1.0
	switch {
	case d.rest == "" || d.take("Z") || d.take("z"):
		return 0
	case d.take("-"):
		sign = -1
	case !d.take("+"):
		d.bad = true
		return 0
	}
	hours := d.field(2, 0, 23)
	d.take(":")
	return sign * float64(hours*60+d.field(2, 0, 59)) * 60e3
}

func (d *dateParser) take(s string) bool {
	if len(d.rest) < len(s) || d.rest[:len(s)] != s {
		return false
	}
	d.rest = d.rest[len(s):]
	return true
}

// field reads a number of so many digits.
func (d *dateParser) field(digits, low, high int) int {
	if len(d.rest) < digits {
		d.bad = true
		return low
	}
	n, err := strconv.ParseUint(d.rest[:digits], 10, 32)
	if err != nil || int(n) < low || int(n) > high {
		d.bad = true
		return low
	}
	d.rest = d.rest[digits:]
	return int(n)
}
