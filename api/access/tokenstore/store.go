package tokenstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

const (
	// maxTokens bounds the tokens of a log.
	maxTokens = 10_000
	// requestTimeout bounds one read or change of the bucket. It is as long as that of
	// an append, since both wait for the same disks.
	requestTimeout = 30 * time.Second
	// watchPeriod is how often the whole bucket is read again, in case a watch has
	// stopped without an error.
	watchPeriod = time.Minute
	// useResolution is the resolution of the time at which a token was last used.
	useResolution = time.Hour
	// MaxFormer is the longest time for which a rotated secret may stay valid.
	MaxFormer = 7 * 24 * time.Hour
)

// The errors of Check. Both mean that the caller is not authenticated; do not tell
// it more than that.
var (
	ErrUnknown = errors.New("no token of this log")
	ErrExpired = errors.New("the token has expired")
)

// A Store keeps the tokens of one log. It is safe for concurrent use. Check
// uses no network: it uses what Run has read.
type Store struct {
	js       jetstream.JetStream
	log      string
	replicas int
	logger   *slog.Logger
	now      func() time.Time

	mu      sync.Mutex
	tokens  map[string]storedToken                                     // nil until they were read
	used    map[string]time.Time                                       // as the bucket has it
	seen    map[string]time.Time                                       // used on this node and not saved yet
	durable func(ctx context.Context, stream string, pos uint64) error // optional
	// verified are the revisions of keys that isGenuine has accepted.
	verified map[string]uint64
}

// New returns the token store of a log. If the bucket is missing, it is
// created with that many replicas. The store has no tokens until Run has read them.
// A nil logger means slog.Default().
func New(js jetstream.JetStream, log string, replicas int, logger *slog.Logger) *Store {
	return &Store{
		js: js, log: log, replicas: max(replicas, 1), logger: cmp.Or(logger, slog.Default()), now: time.Now,
		used: map[string]time.Time{}, seen: map[string]time.Time{}, verified: map[string]uint64{},
	}
}

// FlushWith sets a function that waits until what the server answered for a stream is
// on disk. It is needed if the server answers before it flushes. Call it before the
// first use of the store.
func (ts *Store) FlushWith(durable func(ctx context.Context, stream string, pos uint64) error) {
	ts.durable = durable
}

// BucketName returns the name of the bucket with a log's tokens.
func BucketName(log string) string { return "SESSTOKENS_" + log }

const (
	tokenKeys = "token."
	usedKeys  = "used."
)

// Run follows the bucket until ctx ends, and saves when tokens were used. Changes
// arrive within moments; while the bucket is unavailable, Check uses the last known
// tokens. The error is never nil.
func (ts *Store) Run(ctx context.Context) error {
	for {
		err := ts.follow(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			ts.logger.Warn("cannot follow the log's tokens; using the last known ones", "err", err)
		}
		ts.saveUse(ctx)
		if err == nil {
			continue
		}
		if err := retry.Wait(ctx, time.Second); err != nil {
			return err
		}
	}
}

// follow reads the whole bucket and then its changes, for watchPeriod.
func (ts *Store) follow(ctx context.Context) error {
	kv, err := ts.bucket(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, watchPeriod)
	defer cancel()
	w, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // also stops with its context
	fresh := snapshot{map[string]storedToken{}, map[string]time.Time{}}
	for {
		select {
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return nil
			case e == nil: // end of the current content
				ts.replace(fresh)
			default:
				own, err := ts.isGenuine(ctx, e)
				if err != nil {
					return err
				}
				ts.mu.Lock()
				fresh.apply(e, own, ts.logger)
				ts.mu.Unlock()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// A snapshot is the content of the bucket.
type snapshot struct {
	tokens map[string]storedToken
	used   map[string]time.Time
}

// apply applies a change of a key.
func (s snapshot) apply(e jetstream.KeyValueEntry, own bool, logger *slog.Logger) {
	gone := e.Operation() != jetstream.KeyValuePut
	if id, ok := strings.CutPrefix(e.Key(), usedKeys); ok {
		t, err := time.Parse(time.RFC3339, string(e.Value()))
		if gone || err != nil {
			delete(s.used, id)
			return
		}
		s.used[id] = t
		return
	}
	id, ok := strings.CutPrefix(e.Key(), tokenKeys)
	if !ok {
		return
	}
	k, err := parseStored(id, e.Value())
	if !own {
		err = errors.New("not written by a node")
	}
	if gone || err != nil {
		delete(s.tokens, id) // an unreadable token grants nothing
	}
	if gone {
		return
	}
	if err != nil {
		logger.Error("ignoring an invalid token of the log", "id", id, "err", err)
		return
	}
	s.tokens[id] = k
}

// isGenuine reports whether an entry was written to the bucket by a client with the
// permission, and not by the server as a reply. A client that may read messages
// chooses the reply subject, without a permission check, so it could have the server
// write the content of any record to the bucket. Such replies have headers that name
// their origin.
func (ts *Store) isGenuine(ctx context.Context, e jetstream.KeyValueEntry) (bool, error) {
	if e.Operation() != jetstream.KeyValuePut || !strings.HasPrefix(e.Key(), tokenKeys) {
		return true, nil
	}
	ts.mu.Lock()
	known := ts.verified[e.Key()] == e.Revision()
	ts.mu.Unlock()
	if known {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	h, there, err := ts.headerAt(ctx, e.Revision())
	if err != nil || !there { // replaced; the watch delivers the new entry, too
		return false, err
	}
	for _, of := range []string{jetstream.StreamHeader, jetstream.SubjectHeader, jetstream.SequenceHeader} {
		if h.Get(of) != "" {
			return false, nil
		}
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.verified[e.Key()] = e.Revision()
	return true, nil
}

// headerAt returns the stored header of a message of the bucket. It asks the leader,
// because a direct get adds headers of the server.
func (ts *Store) headerAt(ctx context.Context, revision uint64) (h nats.Header, there bool, err error) {
	subject := "$JS.API.STREAM.MSG.GET.KV_" + BucketName(ts.log)
	reply, err := ts.js.Conn().RequestWithContext(ctx, subject, mustJSON(map[string]uint64{"seq": revision}))
	if err != nil {
		return nil, false, err
	}
	var got struct {
		Message struct {
			Header []byte `json:"hdrs"`
		} `json:"message"`
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &got); err != nil {
		return nil, false, err
	}
	switch {
	case got.Error != nil && got.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, false, nil
	case got.Error != nil:
		return nil, false, got.Error
	case len(got.Message.Header) == 0:
		return nil, true, nil
	}
	h, err = nats.DecodeHeadersMsg(got.Message.Header)
	return h, err == nil, err
}

// parseStored parses the bucket's value of the token id.
func parseStored(id string, value []byte) (k storedToken, err error) {
	if err := json.Unmarshal(value, &k); err != nil {
		return k, err
	}
	if k.ID != id || !isTokenID(id) {
		return k, fmt.Errorf("it has the id %.32q", k.ID)
	}
	return k, k.Grant.Check()
}

func (ts *Store) replace(s snapshot) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.tokens, ts.used = s.tokens, s.used
}

// Check returns the valid token of bearer. It returns ErrUnknown or ErrExpired if
// there is none, and core.ErrUnavailable until Run has read the tokens.
func (ts *Store) Check(bearer string) (access.Token, error) {
	id, secret, ok := parse(bearer)
	if !ok {
		return access.Token{}, ErrUnknown
	}
	sum := digest(ts.log, id, secret)
	now := ts.now()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.tokens == nil {
		return access.Token{}, fmt.Errorf("this node has not read the tokens of log %s yet: %w", ts.log, core.ErrUnavailable)
	}
	k, ok := ts.tokens[id]
	good := access.Same(sum, k.Hash)
	former := access.Same(sum, k.FormerHash) && now.Before(k.Former)
	if !ok || !good && !former {
		return access.Token{}, ErrUnknown
	}
	if !k.Expires.IsZero() && !now.Before(k.Expires) {
		return access.Token{}, ErrExpired
	}
	ts.seen[id] = now
	return k.Token, nil
}

// saveUse saves in the bucket when tokens were used, to the hour.
func (ts *Store) saveUse(ctx context.Context) {
	kv, err := ts.bucket(ctx)
	if err != nil {
		return
	}
	for id, at := range ts.unsavedUse() {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		_, err := kv.Put(ctx, usedKeys+id, []byte(at.Format(time.RFC3339)))
		cancel()
		if err != nil {
			ts.logger.Debug("the use of a token could not be saved", "id", id, "err", err)
			return
		}
	}
}

// unsavedUse returns the hours of use that the bucket lacks.
func (ts *Store) unsavedUse() map[string]time.Time {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	out := map[string]time.Time{}
	for id, at := range ts.seen {
		hour := at.UTC().Truncate(useResolution)
		if _, there := ts.tokens[id]; there && hour.After(ts.used[id]) {
			out[id] = hour
		}
	}
	clear(ts.seen)
	return out
}

// List reads all tokens from the bucket, oldest first.
func (ts *Store) List(ctx context.Context) ([]access.Token, error) {
	s, err := ts.read(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]access.Token, 0, len(s.tokens))
	for id, k := range s.tokens {
		k.Used = s.used[id]
		list = append(list, k.Token)
	}
	slices.SortFunc(list, func(x, y access.Token) int {
		return cmp.Or(x.Created.Compare(y.Created), strings.Compare(x.ID, y.ID))
	})
	return list, nil
}

// read reads the whole bucket once.
func (ts *Store) read(ctx context.Context) (snapshot, error) {
	s := snapshot{map[string]storedToken{}, map[string]time.Time{}}
	return s, ts.withBucket(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		w, err := kv.WatchAll(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = w.Stop() }()
		for {
			select {
			case e, ok := <-w.Updates():
				if !ok {
					return cmp.Or(ctx.Err(), errors.New("the watch ended"))
				}
				if e == nil {
					return nil
				}
				own, err := ts.isGenuine(ctx, e)
				if err != nil {
					return err
				}
				s.apply(e, own, ts.logger)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}

// Create creates a token with the name, grant, author and expiry of t, and returns
// it with its secret. A share link without a name is named after its id. It returns
// core.ErrInvalid if t is invalid, core.ErrExists if the name is taken, and
// core.ErrUnavailable if the token could not be stored.
func (ts *Store) Create(ctx context.Context, t access.Token) (access.Issued, error) {
	t = access.Token{ID: newTokenID(), Name: t.Name, Grant: t.Grant, By: t.By, Created: ts.now().UTC(), Expires: t.Expires}
	if t.Name == "" && t.Scope == access.Share {
		t.Name = "share " + t.ID
	}
	if err := t.Check(); err != nil {
		return access.Issued{}, err
	}
	if !t.Expires.IsZero() && !t.Expires.After(t.Created) {
		return access.Issued{}, fmt.Errorf("expires %s: in the past: %w", t.Expires.Format(time.RFC3339), core.ErrInvalid)
	}
	list, err := ts.List(ctx)
	if err != nil {
		return access.Issued{}, err
	}
	if len(list) >= maxTokens {
		return access.Issued{}, fmt.Errorf("the log has %d tokens; revoke unused ones: %w", len(list), core.ErrFull)
	}
	if slices.ContainsFunc(list, func(o access.Token) bool { return o.Name == t.Name }) {
		return access.Issued{}, fmt.Errorf("a token is called %q already; rotate or revoke that one: %w", t.Name, core.ErrExists)
	}
	secret := newSecret()
	k := storedToken{Token: t, Hash: digest(ts.log, t.ID, secret)}
	err = ts.withBucket(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		_, err := kv.Create(ctx, tokenKeys+t.ID, mustJSON(k))
		return err
	})
	return access.Issued{Token: t, Bearer: bearer(t.ID, secret)}, err
}

// Rotate gives the token id a new secret. The current secret stays valid for keep,
// at most MaxFormer; an older one becomes invalid.
func (ts *Store) Rotate(ctx context.Context, id string, keep time.Duration) (made access.Issued, err error) {
	if keep < 0 || keep > MaxFormer {
		return access.Issued{}, fmt.Errorf("keep %s: the former secret may stay valid for 0s to %s: %w", keep, MaxFormer, core.ErrInvalid)
	}
	secret := newSecret()
	err = ts.change(ctx, id, func(ctx context.Context, kv jetstream.KeyValue, k storedToken, rev uint64) error {
		k.FormerHash, k.Former = "", time.Time{}
		k.Rotated = ts.now().UTC()
		if keep > 0 {
			k.FormerHash, k.Former = k.Hash, k.Rotated.Add(keep)
		}
		k.Hash = digest(ts.log, id, secret)
		_, err := kv.Update(ctx, tokenKeys+id, mustJSON(k), rev)
		made = access.Issued{Token: k.Token, Bearer: bearer(id, secret)}
		return err
	})
	return made, err
}

// Revoke permanently revokes the token id on all nodes.
func (ts *Store) Revoke(ctx context.Context, id string) (t access.Token, err error) {
	err = ts.change(ctx, id, func(ctx context.Context, kv jetstream.KeyValue, k storedToken, rev uint64) error {
		t = k.Token
		if err := kv.Delete(ctx, tokenKeys+id, jetstream.LastRevision(rev)); err != nil {
			return err
		}
		_ = kv.Delete(ctx, usedKeys+id) // best effort
		return nil
	})
	return t, err
}

// change calls f with the token id as it is in the bucket.
func (ts *Store) change(ctx context.Context, id string, f func(context.Context, jetstream.KeyValue, storedToken, uint64) error) error {
	if !isTokenID(id) {
		return fmt.Errorf("no token %.32q in log %s: %w", id, ts.log, core.ErrNotFound)
	}
	return ts.withBucket(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		e, err := kv.Get(ctx, tokenKeys+id)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return fmt.Errorf("no token %s in log %s: %w", id, ts.log, core.ErrNotFound)
		}
		if err != nil {
			return err
		}
		k, err := parseStored(id, e.Value())
		if err != nil {
			return fmt.Errorf("token %s: %v: %w", id, err, core.ErrCorrupt)
		}
		return f(ctx, kv, k, e.Revision())
	})
}

// withBucket calls f with the bucket, and maps errors of JetStream to those of core.
func (ts *Store) withBucket(ctx context.Context, f func(context.Context, jetstream.KeyValue) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	kv, err := ts.bucket(ctx)
	if err == nil {
		err = f(ctx, kv)
	}
	if err == nil && ts.durable != nil {
		err = ts.durable(ctx, "KV_"+BucketName(ts.log), 0)
	}
	switch {
	case err == nil, errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrCorrupt):
		return err
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return fmt.Errorf("the token was changed concurrently: %w", core.ErrConflict)
	}
	return fmt.Errorf("tokens of log %s: %v: %w", ts.log, err, core.ErrUnavailable)
}

// Init creates the log's bucket if it is missing, so that other nodes need no
// permission to do so. It returns core.ErrUnavailable if JetStream does not respond
// within 30 seconds.
func (ts *Store) Init(ctx context.Context) error {
	return ts.withBucket(ctx, func(context.Context, jetstream.KeyValue) error { return nil })
}

// bucket returns the log's bucket, and creates it if it is missing.
func (ts *Store) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name := BucketName(ts.log)
	kv, err := ts.js.KeyValue(ctx, name)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return kv, err
	}
	kv, err = ts.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: name, Description: "access tokens of a sesslog log; secrets are stored as digests",
		Storage: jetstream.FileStorage, History: 1, MaxValueSize: 16 << 10, Replicas: ts.replicas,
	})
	if errors.Is(err, jetstream.ErrBucketExists) { // created concurrently
		return ts.js.KeyValue(ctx, name)
	}
	return kv, err
}

// mustJSON encodes values of strings, numbers and times.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
