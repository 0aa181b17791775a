package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// headerPrefer is where a caller says how long it will wait: "wait=5", in whole
// seconds, as RFC 7240 has it.
const headerPrefer = "Prefer"

// waitOf is how long the caller will wait for the answer, 0 where it does not
// say. What it says that is no number of seconds does not count.
func waitOf(r *http.Request) time.Duration {
	for _, header := range r.Header.Values(headerPrefer) {
		for part := range strings.SplitSeq(header, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 16)
			if strings.EqualFold(name, "wait") && err == nil && n > 0 {
				return time.Duration(n) * time.Second
			}
		}
	}
	return 0
}

// bounded gives a request that writes as long as its caller will wait. A read
// is bounded until its answer begins, see opening.
func bounded(r *http.Request) (*http.Request, context.CancelFunc) {
	wait := waitOf(r)
	if wait == 0 || r.Method == http.MethodGet {
		return r, func() {}
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	return r.WithContext(ctx), cancel
}

// opening bounds how long a request waits for its session.
func opening(r *http.Request) (context.Context, context.CancelFunc) {
	wait := openWait
	if asked := waitOf(r); asked > 0 {
		wait = min(wait, asked-min(asked/8, 250*time.Millisecond))
	}
	return context.WithTimeout(r.Context(), wait)
}

// preferWait tells a node how long the caller of ctx will wait.
func preferWait(ctx context.Context, h http.Header) {
	end, ok := ctx.Deadline()
	if !ok {
		return
	}
	if left := int(time.Until(end) / time.Second); left > 0 {
		h.Set(headerPrefer, "wait="+strconv.Itoa(left))
	}
}
