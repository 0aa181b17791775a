package api

import (
	"context"
	"crypto/rand"
	"net/http"
)

// HeaderRequest names a request, in the node's log and in what others log of the
// same request. A node makes one where the caller has none.
const HeaderRequest = "X-Request-Id"

type requestKey struct{}

// RequestID is the id of the request that ctx is of, "" for none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// identified gives every request an id, and says it in the answer.
func identified(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(HeaderRequest)
		if !isRequestID(id) {
			id = rand.Text()
		}
		w.Header().Set(HeaderRequest, id)
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, id)))
	})
}

// isRequestID reports whether a caller's id may stand in a log: 1 to 64 of
// A-Z a-z 0-9 . _ -
func isRequestID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return len(id) >= 1 && len(id) <= 64
}
