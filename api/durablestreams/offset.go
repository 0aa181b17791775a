package durablestreams

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

// An offset is two numbers of 16 digits, so that offsets sort as text. The first is
// always 0; the second counts the bytes of a stream.
const offsetFormat = "0000000000000000_%016d"

var offsetPattern = regexp.MustCompile(`^0{16}_([0-9]{16})$`)

func formatOffset(n int64) string { return fmt.Sprintf(offsetFormat, n) }

// parseOffset reads what formatOffset writes.
func parseOffset(s string) (int64, bool) {
	m := offsetPattern.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil
}

// A start is where a reader begins.
type start struct {
	at    int64
	now   bool // at the end that the stream has when it is read
	given bool
}

// startOf returns where a request wants to read.
func startOf(q url.Values) (start, error) {
	values, given := q["offset"]
	switch {
	case !given:
		return start{}, nil
	case len(values) > 1:
		return start{}, refuse(http.StatusBadRequest, "offset is given more than once")
	case values[0] == "-1":
		return start{given: true}, nil
	case values[0] == "now":
		return start{now: true, given: true}, nil
	}
	at, ok := parseOffset(values[0])
	if !ok {
		return start{}, refuse(http.StatusBadRequest, "offset %.64q: use -1, now, or an offset that the server returned", values[0])
	}
	return start{at: at, given: true}, nil
}

// Cursors let caches answer several readers of a live stream with one response. They
// count intervals of 20 seconds.
const cursorInterval = 20 * time.Second

var cursorStart = time.Date(2024, 10, 9, 0, 0, 0, 0, time.UTC)

// nextCursor returns the cursor of an answer to a reader that has a cursor, empty for
// none. It is greater than that, so that a cache cannot answer the reader forever.
func nextCursor(had string, now time.Time) string {
	n := int64(now.Sub(cursorStart) / cursorInterval)
	if c, err := strconv.ParseInt(had, 10, 64); err == nil && c >= n && c < 1<<52 {
		n = c + 1 + rand.Int64N(180)
	}
	return strconv.FormatInt(n, 10)
}
