package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/session/notice"
)

// Limits of the stream.
const (
	maxNotices = 10_000 // the oldest are dropped
	maxAge     = 24 * time.Hour
	maxMessage = 64 << 10
	duplicates = time.Hour // how long the ids of messages are remembered
	// storeTimeout bounds how long a shard waits for its notices to be stored.
	storeTimeout = 5 * time.Second
	// storePause is how long no notices are stored after one could not be stored.
	storePause = 30 * time.Second
)

// Config configures a Notifier.
type Config struct {
	JetStream jetstream.JetStream
	Log       string // the log's name
	Replicas  int    // of the stream
	URLs      []string
	Key       []byte // of the signatures
	// Row returns the current row of a session. An agent that has continued since is
	// not reported as waiting.
	Row func(ctx context.Context, id core.SessionID) (catalog.Row, bool, error)
	// Settle is how long an agent must wait before it is reported; default 5 s.
	Settle time.Duration
	// Pause is the time between two requests to a URL; default 100 ms.
	Pause  time.Duration
	Logger *slog.Logger // default slog.Default()
}

// A Notifier stores the notices of a log, and sends them.
type Notifier struct {
	cfg    Config
	http   *http.Client
	opened chan struct{} // closed once the stream is open

	mu      sync.Mutex
	retryAt time.Time // until then, notices are dropped
	dropped int       // notices since the last line in the log
}

// New returns a Notifier. It sends nothing until Run.
func New(cfg Config) *Notifier {
	cfg.Settle, cfg.Pause = cmp.Or(cfg.Settle, 5*time.Second), cmp.Or(cfg.Pause, 100*time.Millisecond)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Notifier{cfg: cfg, http: newClient(), opened: make(chan struct{})}
}

func (n *Notifier) stream() string { return "SESSNOTICES_" + n.cfg.Log }

// subject returns the subject of the notices for a URL, whose path may be a secret.
func (n *Notifier) subject(url string) string { return "sessnotices." + n.cfg.Log + "." + keyOf(url) }

// keyOf returns a name for a URL that does not reveal it.
func keyOf(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:8])
}

// Run creates the stream if there is none, and sends notices until ctx ends. The
// error is never nil.
func (n *Notifier) Run(ctx context.Context) error {
	err := n.retry(ctx, "the stream of notices cannot be opened", func() error {
		_, err := n.cfg.JetStream.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name:        n.stream(),
			Description: "notices of a sesslog log for webhooks",
			Subjects:    []string{"sessnotices." + n.cfg.Log + ".*"},
			Retention:   jetstream.WorkQueuePolicy,
			Storage:     jetstream.FileStorage,
			Discard:     jetstream.DiscardOld,
			MaxMsgs:     maxNotices,
			MaxAge:      maxAge,
			MaxMsgSize:  maxMessage,
			Duplicates:  duplicates,
			Replicas:    max(n.cfg.Replicas, 1),
		})
		return err
	})
	if err != nil {
		return err
	}
	n.open()
	g, ctx := errgroup.WithContext(ctx)
	for _, url := range n.cfg.URLs {
		g.Go(func() error { return n.send(ctx, url) })
	}
	return g.Wait()
}

// open says that the stream is open. A notice that was given up before does not delay
// the next ones.
func (n *Notifier) open() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retryAt = time.Time{}
	close(n.opened)
}

// retry calls f until it succeeds or ctx ends.
func (n *Notifier) retry(ctx context.Context, what string, f func() error) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := f()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		n.cfg.Logger.Warn(what+"; retrying", "err", err)
		if err := retry.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// A message is the body of a request.
type message struct {
	Type      notice.Kind   `json:"type"`
	Timestamp time.Time     `json:"timestamp"`
	Data      notice.Notice `json:"data"`
}

// Changed stores the notices of a session that changed. Those that cannot be stored
// are logged and dropped, and so are those of the next storePause, so that a stream
// that does not answer does not stop the shards. If ctx ends first, Changed returns its
// error: the caller reports the change again.
func (n *Notifier) Changed(ctx context.Context, before, now *catalog.Row) error {
	for _, e := range notice.Between(before, now, time.Now()) {
		if !n.available() {
			continue
		}
		err := n.store(ctx, e)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		n.noteStored(err)
	}
	return nil
}

// available reports whether notices are stored now. If not, it counts one as dropped.
func (n *Notifier) available() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Now().Before(n.retryAt) {
		n.dropped++
		return false
	}
	return true
}

// noteStored notes the result of storing a notice.
func (n *Notifier) noteStored(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.dropped++
		n.retryAt = time.Now().Add(storePause)
	}
	if n.dropped > 0 {
		n.cfg.Logger.Warn("notices are lost", "count", n.dropped, "err", err)
		n.dropped = 0
	}
}

func (n *Notifier) store(ctx context.Context, e notice.Notice) error {
	body, err := json.Marshal(message{Type: e.Kind, Timestamp: e.Time, Data: e})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	select {
	case <-n.opened:
	case <-ctx.Done():
		return fmt.Errorf("the stream of notices is not open: %w", ctx.Err())
	}
	for _, url := range n.cfg.URLs {
		m := &nats.Msg{Subject: n.subject(url), Data: body, Header: nats.Header{idHeader: {e.ID}}}
		if _, err := n.cfg.JetStream.PublishMsg(ctx, m, jetstream.WithMsgID(e.ID+"-"+keyOf(url))); err != nil {
			return err
		}
	}
	return nil
}

// idHeader has the id of the notice in a message.
const idHeader = "Webhook-Id"
