package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
)

// waitOf is how long the caller will wait for the answer, 0 where it does not
// say. What it says that is no number of seconds does not count.
func waitOf(r *http.Request) time.Duration {
	for _, header := range r.Header.Values(api.HeaderPrefer) {
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
