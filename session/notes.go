package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
)

// SetLabel labels the entry called target and returns the id of the entry that
// says so. An empty label takes the label away. core.ErrNotFound when there is
// no such entry.
func (s *Session) SetLabel(ctx context.Context, target, label string) (string, error) {
	return s.one(ctx, func(b *batch) error {
		if err := b.there(target); err != nil {
			return err
		}
		return b.fill(s.d.NewLabel(target, label), b.leaf, "")
	})
}

// SetName names the session and returns the id of the entry that says so. White
// space around the name goes; nothing left clears it, where the agent can.
func (s *Session) SetName(ctx context.Context, name string) (string, error) {
	return s.one(ctx, func(b *batch) error {
		return b.fill(s.d.NewName(strings.TrimSpace(name)), b.leaf, "")
	})
}

// Compact appends a summary that stands for what comes before the entry called
// firstKept, or for all where that is empty, and returns the summary's id.
// tokens is how large the context was; details, one JSON value or nil, is
// whatever the agent adds. core.ErrNotFound when firstKept is not there.
func (s *Session) Compact(ctx context.Context, summary, firstKept string, tokens int64, details json.RawMessage) (string, error) {
	return s.one(ctx, func(b *batch) error {
		return b.add(core.Item{Kind: core.ItemCompaction, Text: summary, Target: firstKept, Tokens: tokens, Details: details})
	})
}

// SetMeta replaces what the message entry called id says of the channel that it
// came through: an object, or null. core.ErrInvalid where the agent has no such
// thing, core.ErrNotFound when there is no such entry.
func (s *Session) SetMeta(ctx context.Context, id string, meta json.RawMessage) error {
	return s.amend(ctx, func(a core.Annotator) (core.Entry, error) {
		e, ok := s.entry(id)
		if !ok {
			return e, fmt.Errorf("session %s has no entry %q: %w", s.id, clip(id), core.ErrNotFound)
		}
		return a.WithMeta(e, meta)
	})
}

// React adds emoji to the reactions of the message that its channel calls
// message, once. core.ErrInvalid where the agent has no such thing,
// core.ErrNotFound when there is no such message.
func (s *Session) React(ctx context.Context, message, emoji string) error {
	return s.amend(ctx, func(a core.Annotator) (core.Entry, error) {
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
