package date

import (
	"math"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

func TestParseDate(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{
		"2026-01-02T03:04:05.678Z":            1767323045678,
		"2026-01-02T03:04:05.6789Z":           1767323045678,
		"2026-01-02T03:04:05.6Z":              1767323045600,
		"2026-01-02T03:04:05Z":                1767323045000,
		"2026-01-02T03:04Z":                   1767323040000,
		"2026-01-02 03:04:05Z":                1767323045000,
		"2026-01-02t03:04:05z":                1767323045000,
		"2026-01-02T03:04:05":                 1767323045000,
		"2026-01-02T03:04:05+01:00":           1767319445000,
		"2026-01-02T03:04:05-0100":            1767326645000,
		"2026-01-02T24:00:00Z":                1767398400000,
		"2026-01-02":                          1767312000000,
		"2026-01":                             1767225600000,
		"2026":                                1767225600000,
		"2026-02-31":                          1772496000000,
		"+002026-01-02":                       1767312000000,
		"-000001-01-01T00:00:00Z":             -62198755200000,
		"+275760-09-13T00:00:00Z":             8.64e15,
		"2026-01-02T03:04:05.123456789+23:59": 1767236705123,
	} {
		if got := Parse(in); got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
	for _, in := range []string{
		"", "nope", "5", "26-01-02", "2026-13-01", "2026-00-01", "2026-01-32", "2026-01-02T03", "2026-01-02T03Z", "2026-01-02T25:00Z",
		"2026-01-02T24:00:01Z", "2026-01-02T03:60Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05+01", "2026-01-02T03:04:05+24:00",
		" 2026-01-02", "2026-01-02T03:04:05Z ", "-000000-01-01", "+275760-09-13T00:00:00.001Z", "2026-1-2", "+2026", "2026-01-02T0x:00Z",
	} {
		if got := Parse(in); !math.IsNaN(got) {
			t.Errorf("%s: %v, want NaN", in, got)
		}
	}
}

// Each day is as many milliseconds as the calendar says.
func TestParseEachDay(t *testing.T) {
	t.Parallel()
	for day := time.Date(1, 1, 1, 23, 59, 58, 0, time.UTC); day.Year() < 2500; day = day.AddDate(0, 0, 1) {
		in := day.Format("2006-01-02T15:04:05.000Z")
		if got := FromValue(jsjson.Value(`"` + in + `"`)); got != float64(day.UnixMilli()) {
			t.Fatalf("%s: %v, want %v", in, got, day.UnixMilli())
		}
	}
}

func TestToISO(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]string{
		0: "1970-01-01T00:00:00.000Z", 1767323045678: "2026-01-02T03:04:05.678Z", -1: "1969-12-31T23:59:59.999Z",
		math.Inf(1): "", 8.64e15: "", 253402300799999: "9999-12-31T23:59:59.999Z",
	} {
		if got := ISO(in); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
	if ISO(math.NaN()) != "" {
		t.Error("NaN is a date")
	}
}
