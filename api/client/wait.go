package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
)

// preferWait tells a node how long the caller of ctx will wait.
func preferWait(ctx context.Context, h http.Header) {
	end, ok := ctx.Deadline()
	if !ok {
		return
	}
	if left := int(time.Until(end) / time.Second); left > 0 {
		h.Set(api.HeaderPrefer, "wait="+strconv.Itoa(left))
	}
}
