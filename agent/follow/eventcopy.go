package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sesslog/sesslog/agent/eventdb"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
)

// An eventCopy is the copy of a session in a database.
type eventCopy struct {
	db   *eventdb.DB
	id   string
	copy string

	mu     sync.Mutex
	loaded bool
	at     eventMark // what the copy has
	known  int64     // number of the last event in the database, as last seen; -1: the session is not there
	seen   bool      // known is known
}

// An eventMark says what a copy has.
type eventMark struct {
	Seq  int64  `json:"seq"` // of the last event; -1: the copy is to be made
	ID   string `json:"id"`
	Size int64  `json:"size"` // of the copy
}

func (c *eventCopy) copyPath() string { return c.copy }

func (c *eventCopy) markPath() string { return c.copy + ".mark" }

// see records the number of the session's last event.
func (c *eventCopy) see(last int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.seen = last, true
}

func (c *eventCopy) isDue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	return !c.seen || c.known != c.at.Seq
}

// load reads what the copy has, once. The copy counts if it has the size that was
// saved with it.
func (c *eventCopy) load() {
	if c.loaded {
		return
	}
	c.loaded, c.at = true, eventMark{Seq: -1}
	b, err := os.ReadFile(c.markPath())
	info, err2 := os.Stat(c.copy)
	var at eventMark
	if errors.Join(err, err2) == nil && json.Unmarshal(b, &at) == nil && at.Seq >= 0 && at.Size == info.Size() {
		c.at = at
	}
}

// update adds the events after those that the copy has. If the database has not
// those any more, the copy is made again.
func (c *eventCopy) update(bool) (again time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	ctx := context.Background() // eventdb limits the time
	if c.at.Seq >= 0 {
		ok, err := c.add(ctx)
		if ok || err != nil {
			return 0, err
		}
	}
	return 0, c.make(ctx)
}

// add appends new events to the copy. ok is false if the copy must be made again.
func (c *eventCopy) add(ctx context.Context) (ok bool, err error) {
	for {
		events, err := c.db.Events(ctx, c.id, c.at.Seq, eventdb.Limit)
		if err != nil {
			return false, err
		}
		if len(events) == 0 || events[0].Seq != c.at.Seq || events[0].ID != c.at.ID {
			return false, nil
		}
		if len(events) == 1 {
			c.known = c.at.Seq
			return true, nil
		}
		h, err := os.OpenFile(c.copy, os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			err = errors.Join(c.write(h, events[1:]), h.Close())
		}
		if err != nil {
			c.at = eventMark{Seq: -1} // the copy may have a part of them
			return false, err
		}
		c.save()
	}
}

// make makes the copy, and replaces the one before.
func (c *eventCopy) make(ctx context.Context) error {
	events, err := c.db.Events(ctx, c.id, 0, eventdb.Limit)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return fmt.Errorf("session %s in %s: %w", c.id, c.db.Path(), fs.ErrNotExist)
	}
	header, err := opencode.Dialect{}.Begin(events[0].JSON)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.copy), 0o700); err != nil {
		return err
	}
	h, err := os.OpenFile(c.copy+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	c.at = eventMark{Seq: -1}
	_, err = h.Write(append(slices.Clip(header.Line), '\n'))
	c.at.Size = int64(len(header.Line)) + 1
	for err == nil && len(events) > 0 {
		if err = c.write(h, events); err == nil {
			events, err = c.db.Events(ctx, c.id, c.at.Seq+1, eventdb.Limit)
		}
	}
	if err = errors.Join(err, h.Close()); err == nil {
		err = os.Rename(c.copy+".new", c.copy)
	}
	if err != nil {
		c.at = eventMark{Seq: -1}
		return err
	}
	c.known = c.at.Seq
	c.save()
	return nil
}

// write writes events to the copy.
func (c *eventCopy) write(h *os.File, events []eventdb.Event) error {
	raw := make([]json.RawMessage, len(events))
	for i := range events {
		raw[i] = events[i].JSON
	}
	lines := core.Lines(opencode.Dialect{}.Entries(c.id, raw))
	if _, err := h.Write(lines); err != nil {
		return err
	}
	last := events[len(events)-1]
	c.at = eventMark{Seq: last.Seq, ID: last.ID, Size: c.at.Size + int64(len(lines))}
	return nil
}

// save saves what the copy has. Without it the next process makes the copy again.
func (c *eventCopy) save() {
	b, err := json.Marshal(c.at)
	if err == nil {
		_ = replaceFile(c.markPath(), b)
	}
}

func (c *eventCopy) close() {}
