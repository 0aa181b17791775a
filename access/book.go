package access

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

	"github.com/sesslog/sesslog/core"
)

const (
	// maxTokens bounds how many tokens a log has.
	maxTokens = 10_000
	// askWait bounds one try to read or change the bucket.
	askWait = 5 * time.Second
	// rewatch is how often the whole bucket is read anew, in case that a watch
	// has gone deaf without a word.
	rewatch = time.Minute
	// usedStep is how coarsely it is kept when a token was used.
	usedStep = time.Hour
	// MaxFormer is how long a secret that was rotated may stay good.
	MaxFormer = 7 * 24 * time.Hour
)

// Errors of Check. Both mean that whoever asks is nobody; callers should be told
// no more than that.
var (
	ErrUnknown = errors.New("no token of this log")
	ErrExpired = errors.New("the token has expired")
)

// A Book is the tokens of one log. Its methods may be called from several
// goroutines. Check asks nobody: it knows what Run has heard.
type Book struct {
	js       jetstream.JetStream
	log      string
	replicas int
	logger   *slog.Logger
	now      func() time.Time

	mu     sync.Mutex
	tokens map[string]kept      // nil until they were read
	used   map[string]time.Time // as the bucket has it
	seen   map[string]time.Time // as this node saw it, since
	// vouched are the revisions of keys that were looked at, see vouch.
	vouched map[string]uint64
}

// NewBook returns the book of a log, whose bucket is made with so many replicas
// where it is absent. It knows no token until Run has read them; the brokers are
// asked nothing yet. A nil logger is slog.Default().
func NewBook(js jetstream.JetStream, log string, replicas int, logger *slog.Logger) *Book {
	return &Book{
		js: js, log: log, replicas: max(replicas, 1), logger: cmp.Or(logger, slog.Default()), now: time.Now,
		used: map[string]time.Time{}, seen: map[string]time.Time{}, vouched: map[string]uint64{},
	}
}

// BucketName is the bucket that a log's tokens are kept in.
func BucketName(log string) string { return "SESSTOKENS_" + log }

const (
	tokenKeys = "token."
	usedKeys  = "used."
)

// Run follows the bucket until ctx ends, and keeps it there when tokens were
// used. What changes is known within moments; while the bucket's servers cannot
// be reached, what was known last holds. The error is never nil.
func (b *Book) Run(ctx context.Context) error {
	for {
		err := b.follow(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			b.logger.Warn("the log's tokens cannot be followed; those known are good", "err", err)
		}
		b.noteUse(ctx)
		if err == nil {
			continue
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// follow reads the whole bucket and then what changes in it, for a while.
func (b *Book) follow(ctx context.Context) error {
	kv, err := b.bucket(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, rewatch)
	defer cancel()
	w, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // it ends with its context anyway
	fresh := snapshot{map[string]kept{}, map[string]time.Time{}}
	for {
		select {
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return nil
			case e == nil: // that was all there is
				b.learn(fresh)
			default:
				own, err := b.vouch(ctx, e)
				if err != nil {
					return err
				}
				b.mu.Lock()
				fresh.take(e, own, b.logger)
				b.mu.Unlock()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// A snapshot is the bucket as it was read.
type snapshot struct {
	tokens map[string]kept
	used   map[string]time.Time
}

// take notes what became of a key.
func (s snapshot) take(e jetstream.KeyValueEntry, own bool, logger *slog.Logger) {
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
	k, err := readKept(id, e.Value())
	if !own {
		err = errors.New("it was not written by a node")
	}
	if gone || err != nil {
		delete(s.tokens, id) // what cannot be read opens nothing
	}
	if gone {
		return
	}
	if err != nil {
		logger.Error("a token of the log cannot be read and is good for nothing", "id", id, "err", err)
		return
	}
	s.tokens[id] = k
}

// vouch reports whether an entry was written into the bucket by somebody who may,
// rather than put there by the server itself. Whoever may ask a server for a
// message names where its answer goes, and no permission is asked for that: so the
// content of any record they may read could become a token. What a server sends
// by itself says where it is from.
func (b *Book) vouch(ctx context.Context, e jetstream.KeyValueEntry) (bool, error) {
	if e.Operation() != jetstream.KeyValuePut || !strings.HasPrefix(e.Key(), tokenKeys) {
		return true, nil
	}
	b.mu.Lock()
	known := b.vouched[e.Key()] == e.Revision()
	b.mu.Unlock()
	if known {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	h, there, err := b.headerAt(ctx, e.Revision())
	if err != nil || !there { // another took its place, and is told as well
		return false, err
	}
	for _, of := range []string{jetstream.StreamHeader, jetstream.SubjectHeader, jetstream.SequenceHeader} {
		if h.Get(of) != "" {
			return false, nil
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.vouched[e.Key()] = e.Revision()
	return true, nil
}

// headerAt is the header of a message of the bucket as it is stored. It is asked of
// the leader: what is got directly comes with a header of the server's own.
func (b *Book) headerAt(ctx context.Context, revision uint64) (h nats.Header, there bool, err error) {
	subject := "$JS.API.STREAM.MSG.GET.KV_" + BucketName(b.log)
	reply, err := b.js.Conn().RequestWithContext(ctx, subject, mustJSON(map[string]uint64{"seq": revision}))
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

// readKept reads what the bucket has of the token called id.
func readKept(id string, value []byte) (k kept, err error) {
	if err := json.Unmarshal(value, &k); err != nil {
		return k, err
	}
	if k.ID != id || !isTokenID(id) {
		return k, fmt.Errorf("it says that it is %.32q", k.ID)
	}
	return k, k.Grant.Check()
}

func (b *Book) learn(s snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens, b.used = s.tokens, s.used
}

// Check returns the token that bearer is, as good now. ErrUnknown and ErrExpired
// where it is none; core.ErrUnavailable while this node has not read the log's
// tokens yet.
func (b *Book) Check(bearer string) (Token, error) {
	id, secret, ok := parse(bearer)
	if !ok {
		return Token{}, ErrUnknown
	}
	sum := digest(b.log, id, secret)
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens == nil {
		return Token{}, fmt.Errorf("this node has not read the tokens of log %s yet: %w", b.log, core.ErrUnavailable)
	}
	k, ok := b.tokens[id]
	good := Same(sum, k.Hash)
	former := Same(sum, k.FormerHash) && now.Before(k.Former)
	if !ok || !good && !former {
		return Token{}, ErrUnknown
	}
	if !k.Expires.IsZero() && !now.Before(k.Expires) {
		return Token{}, ErrExpired
	}
	b.seen[id] = now
	return k.Token, nil
}

// noteUse keeps in the bucket when tokens were used, to the hour. What could not
// be kept is kept later.
func (b *Book) noteUse(ctx context.Context) {
	kv, err := b.bucket(ctx)
	if err != nil {
		return
	}
	for id, at := range b.due() {
		ctx, cancel := context.WithTimeout(ctx, askWait)
		_, err := kv.Put(ctx, usedKeys+id, []byte(at.Format(time.RFC3339)))
		cancel()
		if err != nil {
			b.logger.Debug("when a token was used could not be kept", "id", id, "err", err)
			return
		}
	}
}

// due are the hours that the bucket lacks.
func (b *Book) due() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]time.Time{}
	for id, at := range b.seen {
		hour := at.UTC().Truncate(usedStep)
		if _, there := b.tokens[id]; there && hour.After(b.used[id]) {
			out[id] = hour
		}
	}
	clear(b.seen)
	return out
}

// List returns all tokens as the bucket has them now, the oldest first.
func (b *Book) List(ctx context.Context) ([]Token, error) {
	s, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Token, 0, len(s.tokens))
	for id, k := range s.tokens {
		k.Used = s.used[id]
		list = append(list, k.Token)
	}
	slices.SortFunc(list, func(x, y Token) int {
		return cmp.Or(x.Created.Compare(y.Created), strings.Compare(x.ID, y.ID))
	})
	return list, nil
}

// read reads the whole bucket once.
func (b *Book) read(ctx context.Context) (snapshot, error) {
	s := snapshot{map[string]kept{}, map[string]time.Time{}}
	return s, b.ask(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
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
				own, err := b.vouch(ctx, e)
				if err != nil {
					return err
				}
				s.take(e, own, b.logger)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}

// A Made is a new token, or one with a new secret.
type Made struct {
	Token
	Bearer string `json:"token"` // what requests carry; it is shown this once
}

// Create makes a token with t's name, grant, maker and end, and returns it with
// its secret. core.ErrInvalid where t breaks a rule, core.ErrExists where a token
// has that name, core.ErrUnavailable where it could not be kept.
func (b *Book) Create(ctx context.Context, t Token) (Made, error) {
	t = Token{ID: madeID(), Name: t.Name, Grant: t.Grant, By: t.By, Created: b.now().UTC(), Expires: t.Expires}
	if err := t.check(); err != nil {
		return Made{}, err
	}
	if !t.Expires.IsZero() && !t.Expires.After(t.Created) {
		return Made{}, fmt.Errorf("expires %s: that is over: %w", t.Expires.Format(time.RFC3339), core.ErrInvalid)
	}
	list, err := b.List(ctx)
	if err != nil {
		return Made{}, err
	}
	if len(list) >= maxTokens {
		return Made{}, fmt.Errorf("the log has %d tokens; revoke some that nobody uses: %w", len(list), core.ErrFull)
	}
	if slices.ContainsFunc(list, func(o Token) bool { return o.Name == t.Name }) {
		return Made{}, fmt.Errorf("a token is called %q already; rotate or revoke that one: %w", t.Name, core.ErrExists)
	}
	secret := madeSecret()
	k := kept{Token: t, Hash: digest(b.log, t.ID, secret)}
	err = b.ask(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		_, err := kv.Create(ctx, tokenKeys+t.ID, mustJSON(k))
		return err
	})
	return Made{t, bearer(t.ID, secret)}, err
}

// Rotate gives the token called id a new secret. The one that it had stays good
// for keep, at most MaxFormer; one that was rotated before is good no more.
func (b *Book) Rotate(ctx context.Context, id string, keep time.Duration) (made Made, err error) {
	if keep < 0 || keep > MaxFormer {
		return Made{}, fmt.Errorf("keep %s: the former secret stays good for 0s to %s: %w", keep, MaxFormer, core.ErrInvalid)
	}
	secret := madeSecret()
	err = b.change(ctx, id, func(ctx context.Context, kv jetstream.KeyValue, k kept, rev uint64) error {
		k.FormerHash, k.Former = "", time.Time{}
		k.Rotated = b.now().UTC()
		if keep > 0 {
			k.FormerHash, k.Former = k.Hash, k.Rotated.Add(keep)
		}
		k.Hash = digest(b.log, id, secret)
		_, err := kv.Update(ctx, tokenKeys+id, mustJSON(k), rev)
		made = Made{k.Token, bearer(id, secret)}
		return err
	})
	return made, err
}

// Revoke ends the token called id, for good and on all nodes.
func (b *Book) Revoke(ctx context.Context, id string) (t Token, err error) {
	err = b.change(ctx, id, func(ctx context.Context, kv jetstream.KeyValue, k kept, rev uint64) error {
		t = k.Token
		if err := kv.Delete(ctx, tokenKeys+id, jetstream.LastRevision(rev)); err != nil {
			return err
		}
		_ = kv.Delete(ctx, usedKeys+id) // it names nobody any more
		return nil
	})
	return t, err
}

// change calls f with the token called id as it is in the bucket.
func (b *Book) change(ctx context.Context, id string, f func(context.Context, jetstream.KeyValue, kept, uint64) error) error {
	if !isTokenID(id) {
		return fmt.Errorf("no token %.32q in log %s: %w", id, b.log, core.ErrNotFound)
	}
	return b.ask(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		e, err := kv.Get(ctx, tokenKeys+id)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return fmt.Errorf("no token %s in log %s: %w", id, b.log, core.ErrNotFound)
		}
		if err != nil {
			return err
		}
		k, err := readKept(id, e.Value())
		if err != nil {
			return fmt.Errorf("token %s: %v: %w", id, err, core.ErrCorrupt)
		}
		return f(ctx, kv, k, e.Revision())
	})
}

// ask calls f with the bucket. What it fails with that is no error of core came
// from the brokers.
func (b *Book) ask(ctx context.Context, f func(context.Context, jetstream.KeyValue) error) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	kv, err := b.bucket(ctx)
	if err == nil {
		err = f(ctx, kv)
	}
	switch {
	case err == nil, errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrCorrupt):
		return err
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch): // another was first
		return fmt.Errorf("somebody else changed it at the same time: %w", core.ErrConflict)
	}
	return fmt.Errorf("tokens of log %s: %v: %w", b.log, err, core.ErrUnavailable)
}

// Make has the log's bucket made where it is absent, so that who may make none finds
// it. core.ErrUnavailable where that cannot be told within a few seconds.
func (b *Book) Make(ctx context.Context) error {
	return b.ask(ctx, func(context.Context, jetstream.KeyValue) error { return nil })
}

// bucket returns the log's bucket, made where it is absent.
func (b *Book) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	name := BucketName(b.log)
	kv, err := b.js.KeyValue(ctx, name)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return kv, err
	}
	kv, err = b.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: name, Description: "who may ask the nodes of a sesslog log; secrets are digests",
		Storage: jetstream.FileStorage, History: 1, MaxValueSize: 16 << 10, Replicas: b.replicas,
	})
	if errors.Is(err, jetstream.ErrBucketExists) { // another node was first
		return b.js.KeyValue(ctx, name)
	}
	return kv, err
}

// mustJSON is for what is made of strings, numbers and times.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
