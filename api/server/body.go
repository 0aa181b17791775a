package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/core"
)

// bodyWait is how long a sender may let the next bytes of a body wait.
const bodyWait = 30 * time.Second

// readBody returns the request's body. The caller calls release when it is done
// with it. Memory is taken as bytes arrive: what a sender announces costs
// nothing, and one that stops sending is given up.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	most := callerOf(r.Context()).body(s.cfg.MaxBody)
	if r.ContentLength > most {
		return nil, nil, fmt.Errorf("the body has %d bytes, %d are allowed (limits.body, or the token's): %w", r.ContentLength, most, core.ErrTooLarge)
	}
	var held []func()
	release = func() {
		for _, f := range held {
			f()
		}
	}
	rc := http.NewResponseController(w)
	var b []byte
	for {
		if len(b) == cap(b) {
			// Doubled, up to a little over what is allowed: the last read finds
			// out whether there is more.
			more := min(max(int64(cap(b)), 64<<10), most+4096-int64(cap(b)))
			gate := s.gates.small
			if int64(cap(b))+more > smallBody {
				gate = s.gates.large
			}
			free, err := gate.take(r.Context(), more)
			if err != nil {
				release()
				return nil, nil, err
			}
			held = append(held, free)
			b = append(make([]byte, 0, int64(cap(b))+more), b...)
		}
		if err := rc.SetReadDeadline(time.Now().Add(bodyWait)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			release()
			return nil, nil, err
		}
		n, err := r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == nil {
			continue
		}
		if err == io.EOF {
			_ = rc.SetReadDeadline(time.Time{}) // it was set a moment ago
			return b, release, nil
		}
		// The deadline stays: before it answers, the server waits for what is
		// missing of the body.
		release()
		return nil, nil, bodyError(len(b), err)
	}
}

func bodyError(n int, err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Errorf("the body has more than %d bytes (limits.body, or the token's): %w", n, core.ErrTooLarge)
	}
	return fmt.Errorf("the body broke off after %d bytes: %v: %w", n, err, core.ErrInvalid)
}
