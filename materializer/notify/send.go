package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session/notice"
)

const (
	// requestTimeout bounds a request to a receiver.
	requestTimeout = 10 * time.Second
	// maxSends bounds how often a notice is delivered to a sender.
	maxSends = 12
	// The time to the second attempt is firstRetry pauses; it doubles up to lastRetry.
	firstRetry = 50
	lastRetry  = time.Hour
)

// newClient returns a client that follows no redirects, since these could lead a
// node's request to an address that its operator did not choose.
func newClient() *http.Client {
	return &http.Client{
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send sends the notices for a URL until ctx ends.
func (n *Notifier) send(ctx context.Context, url string) error {
	for {
		var c jetstream.Consumer
		err := n.retry(ctx, "the consumer of notices cannot be opened", func() (err error) {
			c, err = n.cfg.JetStream.CreateOrUpdateConsumer(ctx, n.stream(), jetstream.ConsumerConfig{
				Durable:           keyOf(url),
				FilterSubject:     n.subject(url),
				AckPolicy:         jetstream.AckExplicitPolicy,
				AckWait:           3 * requestTimeout,
				MaxDeliver:        maxSends,
				InactiveThreshold: maxAge, // after the URL was removed
			})
			return err
		})
		if err != nil {
			return err
		}
		if err := n.consume(ctx, c, url); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			n.cfg.Logger.Warn("notices cannot be read; retrying", "err", err)
		}
		if err := retry.Wait(ctx, time.Second); err != nil {
			return err
		}
	}
}

// consume sends the notices of c, one at a time. The error is never nil.
func (n *Notifier) consume(ctx context.Context, c jetstream.Consumer, url string) error {
	msgs, err := c.Messages(jetstream.PullMaxMessages(1))
	if err != nil {
		return err
	}
	defer msgs.Stop()
	defer context.AfterFunc(ctx, msgs.Stop)()
	for {
		m, err := msgs.Next()
		if err != nil {
			return err
		}
		if n.handle(ctx, m, url) {
			if err := retry.Wait(ctx, n.cfg.Pause); err != nil {
				return err
			}
		}
	}
}

// handle sends a notice, or decides not to. It reports whether it made a request.
func (n *Notifier) handle(ctx context.Context, m jetstream.Msg, url string) (requested bool) {
	meta, err := m.Metadata()
	var e message
	if err != nil || json.Unmarshal(m.Data(), &e) != nil {
		_ = m.Term() // not ours
		return false
	}
	if e.Type == notice.Waiting {
		if rest := n.cfg.Settle - time.Since(meta.Timestamp); rest > 0 {
			_ = m.NakWithDelay(rest)
			return false
		}
		row, ok, err := n.cfg.Row(ctx, e.Data.Session)
		if err == nil && (!ok || row.Waits != e.Data.Entry) { // it continued
			_ = m.Ack()
			return false
		}
	}
	err = n.post(ctx, url, m.Headers().Get(idHeader), m.Data())
	switch last := meta.NumDelivered >= maxSends; {
	case err == nil:
		_ = m.Ack() // without the answer it is sent again, with the same id
	case ctx.Err() != nil:
		_ = m.Nak()
	case last, errors.Is(err, errGone):
		n.cfg.Logger.Error("a notice was not accepted, and is dropped", "receiver", hostOf(url), "type", e.Type, "session", e.Data.Session, "err", err)
		_ = m.Term()
	default:
		n.cfg.Logger.Warn("a notice was not accepted; retrying", "receiver", hostOf(url), "type", e.Type, "session", e.Data.Session, "err", err)
		_ = m.NakWithDelay(min(firstRetry*n.cfg.Pause<<min(meta.NumDelivered-1, 16), lastRetry))
	}
	return true
}

// errGone means that a receiver wants no more notices.
var errGone = errors.New("the receiver answered 410 Gone")

// post sends a notice. The error does not have the URL, whose path may be a secret.
func (n *Notifier) post(ctx context.Context, url, id string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL is invalid")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "sessnode")
	sign(req.Header, n.cfg.Key, id, time.Now(), body)
	resp, err := n.http.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return nil
	case resp.StatusCode == http.StatusGone:
		return errGone
	}
	return fmt.Errorf("the receiver answered %d", resp.StatusCode)
}
