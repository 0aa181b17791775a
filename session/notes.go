package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/tree"
)

// SetLabel labels the entry target and returns the id of the entry that says so.
// An empty label removes the label. SetLabel returns core.ErrNotFound if there is no
// such entry.
func (s *Session) SetLabel(ctx context.Context, target, label string) (string, error) {
	return s.one(ctx, func(b *batch) error {
		if err := b.mustHave(target); err != nil {
			return err
		}
		return b.fill(s.d.NewLabel(target, label), b.leaf, "")
	})
}

// SetName names the session and returns the id of the entry that says so. It trims
// white space. An empty name clears the name, if the agent supports that.
func (s *Session) SetName(ctx context.Context, name string) (string, error) {
	return s.one(ctx, func(b *batch) error {
		line := s.d.NewName(strings.TrimSpace(name))
		if line == nil {
			return tree.NoName(s.d)
		}
		return b.fill(line, b.leaf, "")
	})
}

// Compact appends a summary that replaces, in the context, the entries before
// firstKept, or all entries if that is empty, and returns the summary's id. tokens
// is the size of the context before; details is one JSON value for the agent's own
// use, or nil. Compact returns core.ErrNotFound if firstKept does not exist.
func (s *Session) Compact(ctx context.Context, summary, firstKept string, tokens int64, details json.RawMessage) (string, error) {
	id, err := s.one(ctx, func(b *batch) error {
		return b.add(item.Item{Kind: item.Compaction, Text: summary, Target: firstKept, Tokens: tokens, Details: details})
	})
	if id != "" {
		s.compacted([]string{id})
	}
	return id, err
}

// SetMeta replaces what the message id says about the channel that it came
// through: an object, or null. It returns core.ErrInvalid if the agent has no such
// data, and core.ErrNotFound if there is no such entry.
func (s *Session) SetMeta(ctx context.Context, id string, meta json.RawMessage) error {
	return s.annotate(ctx, func(a optional.Annotator) (core.Entry, error) {
		e, ok := s.entry(id)
		if !ok {
			return e, fmt.Errorf("session %s has no entry %q: %w", s.id, clip(id), core.ErrNotFound)
		}
		return a.WithMeta(e, meta)
	})
}

// React adds emoji, once, to the reactions of the message that its channel calls
// message. It returns core.ErrInvalid if the agent has no reactions, and
// core.ErrNotFound if there is no such message.
func (s *Session) React(ctx context.Context, message, emoji string) error {
	return s.annotate(ctx, func(a optional.Annotator) (core.Entry, error) {
		return a.WithReaction(s.entries, message, emoji)
	})
}

// one writes one entry and returns its id.
func (s *Session) one(ctx context.Context, add func(*batch) error) (string, error) {
	ids, err := s.write(ctx, func() ([]core.Entry, error) {
		b := s.batch()
		err := add(b)
		return b.entries, err
	})
	if len(ids) == 0 {
		return "", err
	}
	return ids[0], err
}
