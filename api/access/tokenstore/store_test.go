package tokenstore_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/access/tokenstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

func jetStream(t *testing.T, s *embedded.Server) jetstream.JetStream {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// run returns a token store that runs until the test ends.
func run(t *testing.T, js jetstream.JetStream, log string) *tokenstore.Store {
	t.Helper()
	b := tokenstore.New(js, log, 1, slog.New(slog.DiscardHandler))
	follow(t, b)
	return b
}

func follow(t *testing.T, b *tokenstore.Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { _ = b.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// await waits until Check returns the wanted error for bearer, or nil.
func await(t *testing.T, b *tokenstore.Store, bearer string, want error) access.Token {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		tok, err := b.Check(bearer)
		if errors.Is(err, want) {
			return tok
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("Check = %v, want %v", err, want)
		}
	}
}

func draft(name string, scope access.Scope) access.Token {
	return access.Token{Name: name, Grant: access.Grant{Scope: scope}}
}

func make1(t *testing.T, b *tokenstore.Store, d access.Token) access.Issued {
	t.Helper()
	m, err := b.Create(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTokensPropagateToAllNodes(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	one, other := run(t, jetStream(t, s), "main"), run(t, jetStream(t, s), "main")
	d := draft("build", access.Write)
	d.Prefix, d.By, d.Limits = "ci-", "ada", access.Limits{Rate: 5, Body: 100, Followers: 2}
	m := make1(t, one, d)
	got := await(t, other, m.Bearer, nil)
	if got.ID != m.ID || got.Name != "build" || got.Grant != d.Grant || got.By != "ada" || got.Created.IsZero() {
		t.Errorf("the other node has %+v", got)
	}
	for _, wrong := range []string{"", "x", m.Bearer + "x", m.Bearer[:len(m.Bearer)-1], strings.ToUpper(m.Bearer), strings.TrimPrefix(m.Bearer, "sesslog_"), "sesslog_" + m.ID + "_"} {
		if _, err := other.Check(wrong); !errors.Is(err, tokenstore.ErrUnknown) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := one.Revoke(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	await(t, other, m.Bearer, tokenstore.ErrUnknown)
	await(t, one, m.Bearer, tokenstore.ErrUnknown)
	if _, err := other.Revoke(t.Context(), m.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("second Revoke: %v", err)
	}
	if list, err := other.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
}

func TestRotatedSecretStaysValidForGivenTime(t *testing.T) {
	t.Parallel()
	b := run(t, jetStream(t, embeddedtest.Start(t)), "main")
	first := make1(t, b, draft("agent", access.Read))
	await(t, b, first.Bearer, nil)
	second, err := b.Rotate(t.Context(), first.ID, time.Hour)
	if err != nil || second.ID != first.ID || second.Bearer == first.Bearer {
		t.Fatalf("%+v, %v", second, err)
	}
	await(t, b, second.Bearer, nil)
	if got := await(t, b, first.Bearer, nil); got.Former.IsZero() || got.Rotated.IsZero() {
		t.Errorf("token = %+v", got)
	}
	// A rotation with keep 0 ends both previous secrets.
	third, err := b.Rotate(t.Context(), first.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	await(t, b, first.Bearer, tokenstore.ErrUnknown)
	await(t, b, second.Bearer, tokenstore.ErrUnknown)
	await(t, b, third.Bearer, nil)
	for _, keep := range []time.Duration{-1, tokenstore.MaxFormer + 1} {
		if _, err := b.Rotate(t.Context(), first.ID, keep); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("keep %v: %v", keep, err)
		}
	}
}

func TestBucketDoesNotContainSecrets(t *testing.T) {
	t.Parallel()
	js := jetStream(t, embeddedtest.Start(t))
	b := run(t, js, "main")
	m := make1(t, b, draft("agent", access.Admin))
	next, err := b.Rotate(t.Context(), m.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), tokenstore.BucketName("main"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := kv.Get(t.Context(), "token."+m.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, bearer := range []string{m.Bearer, next.Bearer} {
		secret := bearer[strings.LastIndexByte(bearer, '_')+1:]
		if len(secret) < 26 || strings.Contains(string(e.Value()), secret) {
			t.Errorf("secret %q is too short, or in %s", secret, e.Value())
		}
	}
}

func TestTokenIsValidInItsLogOnly(t *testing.T) {
	t.Parallel()
	js := jetStream(t, embeddedtest.Start(t))
	a, b := run(t, js, "a"), run(t, js, "b")
	m := make1(t, a, draft("agent", access.Admin))
	own := make1(t, b, draft("agent", access.Read))
	await(t, a, m.Bearer, nil)
	await(t, b, own.Bearer, nil)
	if _, err := b.Check(m.Bearer); !errors.Is(err, tokenstore.ErrUnknown) {
		t.Errorf("log b: Check of a token of log a = %v", err)
	}
	// Copying the stored form to another log does not help.
	from, err := js.KeyValue(t.Context(), tokenstore.BucketName("a"))
	if err != nil {
		t.Fatal(err)
	}
	to, err := js.KeyValue(t.Context(), tokenstore.BucketName("b"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := from.Get(t.Context(), "token."+m.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Put(t.Context(), e.Key(), e.Value()); err != nil {
		t.Fatal(err)
	}
	after := make1(t, b, draft("later", access.Read))
	await(t, b, after.Bearer, nil)
	if _, err := b.Check(m.Bearer); !errors.Is(err, tokenstore.ErrUnknown) {
		t.Errorf("log b: Check of a copied token = %v", err)
	}
}

func TestExpiryIsReportedToBearerOnly(t *testing.T) {
	t.Parallel()
	var past atomic.Int64
	now := time.Now()
	b := tokenstore.New(jetStream(t, embeddedtest.Start(t)), "main", 1, slog.New(slog.DiscardHandler))
	tokenstore.SetClock(b, func() time.Time { return now.Add(time.Duration(past.Load())) })
	follow(t, b)
	d := draft("agent", access.Read)
	d.Expires = now
	if _, err := b.Create(t.Context(), d); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("Create of an expired token: %v", err)
	}
	d.Expires = now.Add(time.Minute)
	m := make1(t, b, d)
	await(t, b, m.Bearer, nil)
	next, err := b.Rotate(t.Context(), m.ID, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	await(t, b, next.Bearer, nil)
	past.Store(int64(30 * time.Second))
	if _, err := b.Check(m.Bearer); !errors.Is(err, tokenstore.ErrUnknown) {
		t.Errorf("the former secret after its time: %v", err)
	}
	if _, err := b.Check(next.Bearer); err != nil {
		t.Errorf("the new secret: %v", err)
	}
	past.Store(int64(time.Minute))
	if _, err := b.Check(next.Bearer); !errors.Is(err, tokenstore.ErrExpired) {
		t.Errorf("after expiry: %v", err)
	}
	if _, err := b.Check("sesslog_" + m.ID + "_AAAAAAAAAAAAAAAAAAAAAAAAAA"); !errors.Is(err, tokenstore.ErrUnknown) {
		t.Errorf("with a wrong secret: %v", err)
	}
}

func TestInvalidTokensAreRejected(t *testing.T) {
	t.Parallel()
	b := run(t, jetStream(t, embeddedtest.Start(t)), "main")
	make1(t, b, draft("taken", access.Read))
	for name, c := range map[string]struct {
		token access.Token
		want  error
	}{
		"no name":          {draft("", access.Read), core.ErrInvalid},
		"two lines":        {draft("a\nb", access.Read), core.ErrInvalid},
		"a long name":      {draft(strings.Repeat("n", 65), access.Read), core.ErrInvalid},
		"no scope":         {draft("x", ""), core.ErrInvalid},
		"another scope":    {draft("x", "root"), core.ErrInvalid},
		"a prefix's signs": {access.Token{Name: "x", Grant: access.Grant{Scope: access.Read, Prefix: "a*"}}, core.ErrInvalid},
		"half an admin":    {access.Token{Name: "x", Grant: access.Grant{Scope: access.Admin, Prefix: "a"}}, core.ErrInvalid},
		"a negative rate":  {access.Token{Name: "x", Grant: access.Grant{Scope: access.Read, Limits: access.Limits{Rate: -1}}}, core.ErrInvalid},
		"a name in use":    {draft("taken", access.Read), core.ErrExists},
	} {
		if m, err := b.Create(t.Context(), c.token); !errors.Is(err, c.want) || m.Bearer != "" {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	for _, id := range []string{"", "x", "token", "..", "aaaaaaaaaaaa", "AAAAAAAAAAAA"} {
		if _, err := b.Rotate(t.Context(), id, 0); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("rotate %q: %v", id, err)
		}
	}
}

func TestCheckIsUnavailableUntilTokensWereRead(t *testing.T) {
	t.Parallel()
	js := jetStream(t, embeddedtest.Start(t))
	m := make1(t, run(t, js, "main"), draft("agent", access.Read))
	b := tokenstore.New(js, "main", 1, nil)
	if _, err := b.Check(m.Bearer); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("before the first read: %v", err)
	}
	if _, err := b.Check("what is no token at all"); !errors.Is(err, tokenstore.ErrUnknown) {
		t.Errorf("a malformed token: %v", err)
	}
}

// TestServerReplyIsNotToken makes the server send a record of the log, with chosen
// content, to the subject of a token. NATS checks no permission for a reply
// subject.
func TestServerReplyIsNotToken(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	js := jetStream(t, s)
	b := run(t, js, "main")
	good := make1(t, b, draft("good", access.Read))
	await(t, b, good.Bearer, nil)
	kv, err := js.KeyValue(t.Context(), tokenstore.BucketName("main"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := kv.Get(t.Context(), "token."+good.ID)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(e.Value()), `"scope":"read"`, `"scope":"admin"`, 1)
	if forged == string(e.Value()) {
		t.Fatalf("no scope in %s", forged)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "RECORDS", Subjects: []string{"records.>"}, AllowDirect: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "records.x", []byte(forged)); err != nil {
		t.Fatal(err)
	}
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.PublishRequest("$JS.API.DIRECT.GET.RECORDS.records.x", "$KV."+tokenstore.BucketName("main")+".token."+good.ID, nil); err != nil {
		t.Fatal(err)
	}
	// The forged entry is in the bucket, but Check does not accept it, and it also
	// invalidates the token that it replaced.
	await(t, b, good.Bearer, tokenstore.ErrUnknown)
	if e, err = kv.Get(t.Context(), "token."+good.ID); err != nil || string(e.Value()) != forged {
		t.Fatalf("the bucket contains %v, %v", e, err)
	}
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	after := make1(t, b, draft("after", access.Read))
	await(t, b, after.Bearer, nil)
}
