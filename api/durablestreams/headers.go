package durablestreams

import (
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core/dialect/bytestream"
)

// The headers of the protocol.
const (
	headerNext       = "Stream-Next-Offset"
	headerUpToDate   = "Stream-Up-To-Date"
	headerClosed     = "Stream-Closed"
	headerCursor     = "Stream-Cursor"
	headerSeq        = "Stream-Seq"
	headerTTL        = "Stream-TTL"
	headerExpires    = "Stream-Expires-At"
	headerForkedFrom = "Stream-Forked-From"
	headerForkOffset = "Stream-Fork-Offset"
	headerForkSub    = "Stream-Fork-Sub-Offset"
	headerEncoding   = "Stream-SSE-Data-Encoding"

	headerProducer      = "Producer-Id"
	headerProducerEpoch = "Producer-Epoch"
	headerProducerSeq   = "Producer-Seq"
	headerExpectedSeq   = "Producer-Expected-Seq"
	headerReceivedSeq   = "Producer-Received-Seq"

	// headerStream is ours: it tells a stream from an earlier one at the same path.
	headerStream = "Sess-Stream"
)

// maxHeader bounds texts of headers that the log keeps.
const maxHeader = 512

// defaultType is the content type of a stream that was created without one.
const defaultType = "application/octet-stream"

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]{0,15})$`)

// parseNumber reads a number of at most 2^53-1 in its only decimal form.
func parseNumber(s string) (int64, bool) {
	if !decimal.MatchString(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n < 1<<53
}

// contentTypeOf returns the content type of a request, empty if it has none.
func contentTypeOf(r *http.Request) (string, error) {
	s := strings.TrimSpace(r.Header.Get("Content-Type"))
	if s == "" {
		return "", nil
	}
	if _, _, err := mime.ParseMediaType(s); err != nil || len(s) > maxHeader {
		return "", refuse(http.StatusBadRequest, "content type %.64q is not valid", s)
	}
	return s, nil
}

// sameType reports whether bytes of type b may be appended to a stream of type a.
func sameType(a, b string) bool { return bytestream.MediaType(a) == bytestream.MediaType(b) }

// wantsClosed reports whether a request closes its stream.
func wantsClosed(r *http.Request) bool { return strings.EqualFold(r.Header.Get(headerClosed), "true") }

// lifetimeOf returns when a new stream ends: ttl seconds after its last use, or at a
// fixed time. Both are zero if it does not end.
func lifetimeOf(r *http.Request) (ttl *int64, expires string, err error) {
	seconds, at := r.Header.Values(headerTTL), r.Header.Get(headerExpires)
	if len(seconds) > 0 && at != "" {
		return nil, "", refuse(http.StatusBadRequest, "%s and %s exclude each other", headerTTL, headerExpires)
	}
	if len(seconds) > 0 {
		n, ok := parseNumber(seconds[0])
		if !ok || len(seconds) > 1 || n > maxTTL {
			return nil, "", refuse(http.StatusBadRequest, "%s %.64q: use a number of seconds", headerTTL, seconds[0])
		}
		return &n, "", nil
	}
	if at == "" {
		return nil, "", nil
	}
	if _, err := time.Parse(time.RFC3339, at); err != nil {
		return nil, "", refuse(http.StatusBadRequest, "%s %.64q: use a time of RFC 3339", headerExpires, at)
	}
	return nil, at, nil
}

// maxTTL is 100 years.
const maxTTL = 100 * 366 * 24 * 3600

// producerOf returns the producer that a request names, nil for none.
func producerOf(r *http.Request) (*bytestream.Producer, error) {
	names := []string{headerProducer, headerProducerEpoch, headerProducerSeq}
	given := 0
	for _, name := range names {
		if len(r.Header.Values(name)) > 0 {
			given++
		}
	}
	if given == 0 {
		return nil, nil
	}
	if given < len(names) {
		return nil, refuse(http.StatusBadRequest, "%s are sent together or not at all", strings.Join(names, ", "))
	}
	p := &bytestream.Producer{ID: r.Header.Get(headerProducer)}
	var ok bool
	switch {
	case p.ID == "" || len(p.ID) > maxHeader:
		return nil, refuse(http.StatusBadRequest, "%s has 1 to %d bytes", headerProducer, maxHeader)
	default:
		if p.Epoch, ok = parseNumber(r.Header.Get(headerProducerEpoch)); !ok {
			return nil, refuse(http.StatusBadRequest, "%s %.32q is not a number", headerProducerEpoch, r.Header.Get(headerProducerEpoch))
		}
		if p.Seq, ok = parseNumber(r.Header.Get(headerProducerSeq)); !ok {
			return nil, refuse(http.StatusBadRequest, "%s %.32q is not a number", headerProducerSeq, r.Header.Get(headerProducerSeq))
		}
	}
	return p, nil
}

// seqOf returns the sequence text of a request, nil for none.
func seqOf(r *http.Request) (*string, error) {
	values := r.Header.Values(headerSeq)
	if len(values) == 0 {
		return nil, nil
	}
	if len(values[0]) > maxHeader {
		return nil, refuse(http.StatusBadRequest, "%s has at most %d bytes", headerSeq, maxHeader)
	}
	return &values[0], nil
}
