package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/retry"
)

// Limits of the audit records.
const (
	// auditRecords is the default limit of the stream, about 50 MiB. A limit in bytes
	// would reserve that space on the disk.
	auditRecords = 100_000
	// auditName bounds each name in a record, auditText each other text, and
	// auditMessage the record, in which JSON may need six bytes for one.
	auditName    = 256
	auditText    = 4 << 10
	auditMessage = 64 << 10
	// auditWait bounds one try to write or to read.
	auditWait = 10 * time.Second
	// AuditPage is the maximum number of records of one Read.
	AuditPage = 1000
)

// An Audit stores what operators did to a log, in a separate stream from which nothing
// can be deleted. Its methods are safe for concurrent use.
type Audit struct {
	js      jetstream.JetStream
	name    string
	subj    string
	durable Durable
}

// FlushWith makes Write wait for durable, and Read return only what is durable.
func (a *Audit) FlushWith(durable Durable) { a.durable = durable }

func (a *Audit) flushed(ctx context.Context, pos uint64) error {
	if a.durable == nil {
		return nil
	}
	return a.durable(ctx, a.name, pos)
}

// OpenAudit opens the audit records of a log. It creates their stream with the given
// number of replicas if it does not exist. Returns core.ErrInvalid if the settings of
// an existing stream delete records.
func OpenAudit(ctx context.Context, js jetstream.JetStream, log string, replicas int) (*Audit, error) {
	if err := checkLogName(log); err != nil {
		return nil, err
	}
	a := &Audit{js: js, name: "SESSAUDIT_" + log, subj: "sessaudit." + log}
	s, err := untilReady(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		s, err := js.Stream(ctx, a.name)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return s, err
		}
		s, err = js.CreateStream(ctx, a.config(max(replicas, 1)))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node was first
			return js.Stream(ctx, a.name)
		}
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", a.name, mapReadError(err))
	}
	return a, a.check(s.CachedInfo().Config)
}

func (a *Audit) config(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        a.name,
		Description: "what operators did to a sesslog log",
		Subjects:    []string{a.subj},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew,
		MaxMsgs:     auditRecords,
		MaxMsgSize:  auditMessage,
		Replicas:    replicas,
		DenyDelete:  true,
		DenyPurge:   true,
	}
}

func (a *Audit) check(c jetstream.StreamConfig) error {
	if c.Storage != jetstream.FileStorage || c.Retention != jetstream.LimitsPolicy || c.Discard != jetstream.DiscardNew ||
		c.MaxAge != 0 || c.MaxMsgsPerSubject > 0 || c.NoAck {
		return fmt.Errorf("stream %s deletes records; fix its settings: %w", a.name, core.ErrInvalid)
	}
	return nil
}

// Write stores r; the stream sets N and Time. Names are truncated to 256 bytes, the
// reason and the detail to 4 KiB. Returns core.ErrFull if the stream has no space for
// more records, and core.ErrUncertain if the answer was lost: write the record again,
// since a duplicate is better than none.
func (a *Audit) Write(ctx context.Context, r report.AuditRecord) error {
	r.N, r.Time = 0, time.Time{}
	for _, name := range []*string{&r.Act, &r.By, &r.Host, &r.Node, &r.Token, &r.Request} {
		*name = cutText(*name, auditName)
	}
	r.Why, r.Detail = cutText(r.Why, auditText), cutText(r.Detail, auditText)
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, auditWait)
	defer cancel()
	for {
		ack, err := a.js.Publish(ctx, a.subj, body, jetstream.WithExpectStream(a.name), jetstream.WithRetryAttempts(0))
		if err == nil {
			err = a.flushed(ctx, ack.Sequence)
		}
		err = mapError(err)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, core.ErrFull):
			return fmt.Errorf("stream %s is full: save its records with sessctl audit -o json, then raise max_msgs: %w", a.name, core.ErrFull)
		case !errors.Is(err, errBusy) || retry.Pause(ctx) != nil:
			return fmt.Errorf("audit record of %q: %w", r.Act, err)
		}
	}
}

// Capacity returns the number of records and its limit, 0 for none.
func (a *Audit) Capacity(ctx context.Context) (used, limit uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, auditWait)
	defer cancel()
	s, err := a.js.Stream(ctx, a.name)
	if err != nil {
		return 0, 0, fmt.Errorf("stream %s: %w", a.name, mapReadError(err))
	}
	info := s.CachedInfo()
	return info.State.Msgs, uint64(max(info.Config.MaxMsgs, 0)), nil
}

// cutText truncates s to n bytes, between characters.
func cutText(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len("…")], "") + "…"
}

// Read returns the records after number after that were stored at since or later,
// oldest first, at most AuditPage of them. It skips messages that are not audit
// records.
func (a *Audit) Read(ctx context.Context, after uint64, since time.Time) ([]report.AuditRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, auditWait)
	defer cancel()
	s, err := a.js.Stream(ctx, a.name)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", a.name, mapReadError(err))
	}
	if s.CachedInfo().State.LastSeq <= after {
		return nil, nil
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", a.name, mapReadError(err))
	}
	msgs, err := c.Messages()
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", a.name, mapReadError(err))
	}
	defer msgs.Stop()
	stop := context.AfterFunc(ctx, msgs.Stop)
	defer stop()
	var out []report.AuditRecord
	for {
		m, err := msgs.Next()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("stream %s: %w: %w", a.name, ctx.Err(), core.ErrUnavailable)
		}
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", a.name, mapReadError(err))
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("stream %s: a message without a sequence: %v: %w", a.name, err, core.ErrCorrupt)
		}
		var r report.AuditRecord
		if json.Unmarshal(m.Data(), &r) == nil && !meta.Timestamp.Before(since) {
			r.N, r.Time = meta.Sequence.Stream, meta.Timestamp.UTC()
			out = append(out, r)
		}
		if meta.NumPending == 0 || len(out) == AuditPage {
			return out, mapFlushError(ctx, a.flushed(ctx, meta.Sequence.Stream))
		}
	}
}
