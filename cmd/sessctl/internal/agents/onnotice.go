package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/session/notice"
)

const (
	// settle is how long an agent must wait for its user before a notice says so.
	settle = 5 * time.Second
	// noticeTimeout bounds a run of the command, and noticePause is the time between
	// two of them.
	noticeTimeout = time.Minute
	noticePause   = time.Second / 4
	// maxWaiting is how many notices can wait for the command; more are dropped.
	maxWaiting = 64
	// maxRows bounds how many sessions are remembered. If more changed, only those that
	// are held or split are kept.
	maxRows = 10_000
)

// A noticeWatcher runs a command for each notice of a log.
type noticeWatcher struct {
	app
	node    *client.Client
	command string
	queue   chan notice.Notice

	mu   sync.Mutex
	rows map[core.SessionID]*catalog.Row // as far as notices need them
}

// onNotice runs command for each notice until ctx ends.
func (a app) onNotice(ctx context.Context, node *client.Client, command string) {
	w := &noticeWatcher{app: a, node: node, command: command, queue: make(chan notice.Notice, maxWaiting)}
	go w.runCommands(ctx)
	for ctx.Err() == nil {
		if err := w.follow(ctx); err != nil && !errors.Is(err, core.ErrLost) && ctx.Err() == nil {
			a.Notef("notices cannot be read, retrying: %v", err)
		}
		_ = retry.Wait(ctx, settle)
	}
}

// follow derives the notices of all sessions that change. It knows what held sessions
// were before.
func (w *noticeWatcher) follow(ctx context.Context) error {
	begin, err := w.node.List(ctx, catalog.Filter{Limit: 1})
	if err != nil {
		return err
	}
	held, _, err := cli.AllSessions(ctx, w.node, catalog.Filter{State: catalog.StateHeld})
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.rows = map[core.SessionID]*catalog.Row{}
	for i := range held {
		w.rows[held[i].ID] = &held[i]
	}
	w.mu.Unlock()
	return w.node.Changes(ctx, catalog.Filter{}, begin.Mark, func(c api.RowChange) error {
		w.change(ctx, c)
		return nil
	})
}

func (w *noticeWatcher) change(ctx context.Context, c api.RowChange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Row == nil {
		delete(w.rows, c.ID)
		return
	}
	before := w.rows[c.ID]
	if before == nil {
		before = &catalog.Row{}
	}
	w.rows[c.ID] = &catalog.Row{Seq: c.Row.Seq, Holder: c.Row.Holder, Heads: c.Row.Heads, Waits: c.Row.Waits}
	if len(w.rows) > maxRows { // bounds the memory
		maps.DeleteFunc(w.rows, func(_ core.SessionID, r *catalog.Row) bool { return r.Holder == nil && len(r.Heads) == 0 })
	}
	for _, n := range notice.Between(before, c.Row, w.Now()) {
		if n.Kind != notice.Waiting {
			w.enqueue(n)
			continue
		}
		go func() {
			if retry.Wait(ctx, settle) == nil && w.stillWaits(n) {
				w.enqueue(n)
			}
		}()
	}
}

func (w *noticeWatcher) stillWaits(n notice.Notice) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	row := w.rows[n.Session]
	return row != nil && row.Holder != nil && row.Waits == n.Entry
}

func (w *noticeWatcher) enqueue(n notice.Notice) {
	select {
	case w.queue <- n:
	default:
		w.Notef("too many notices; dropped: %s", n.Text)
	}
}

// runCommands runs the command for each notice, one at a time.
func (w *noticeWatcher) runCommands(ctx context.Context) {
	for {
		select {
		case n := <-w.queue:
			if err := w.run(ctx, n); err != nil && ctx.Err() == nil {
				w.Notef("the command of --on-notice failed: %v", err)
			}
		case <-ctx.Done():
			return
		}
		_ = retry.Wait(ctx, noticePause)
	}
}

func (w *noticeWatcher) run(ctx context.Context, n notice.Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", w.command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(body), w.Stderr, w.Stderr
	cmd.Env = append(os.Environ(), "SESS_NOTICE="+string(n.Kind), "SESS_NOTICE_SESSION="+string(n.Session), "SESS_NOTICE_TEXT="+cli.Plain(n.Text))
	if n.Holder != nil {
		cmd.Env = append(cmd.Env, "SESS_NOTICE_HOST="+cli.Plain(n.Holder.Host))
	}
	cmd.WaitDelay = time.Second // its children may keep its output open
	return cmd.Run()
}
