package sim

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

// kept stores blobs for logs without faults.
type kept struct {
	mu  sync.Mutex
	all map[core.Digest][]byte
}

func (k *kept) Put(_ context.Context, b []byte) (core.Digest, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[core.Digest][]byte{}
	}
	d := core.DigestOf(b)
	k.all[d] = bytes.Clone(b)
	return d, nil
}

func (k *kept) Get(_ context.Context, d core.Digest) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b, ok := k.all[d]
	if !ok {
		return nil, core.ErrNotFound
	}
	return b, nil
}

func dial(t *testing.T, b *broker, name string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("nats://sim", nats.InProcessServer(door{b, name}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func openLog(t *testing.T, nc *nats.Conn, blobs storage.Blobs) *stream.Log {
	t.Helper()
	l, err := stream.OpenLog(t.Context(), nc, stream.LogConfig{Shards: 2, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The simulated broker must pass the tests of a log.
func TestSimulatedBrokerIsALog(t *testing.T) {
	t.Parallel()
	l := openLog(t, dial(t, newBroker(), "one"), &kept{})
	logtest.Test(t, func(*testing.T) core.Log { return l })
}

// The simulated broker must answer byte for byte as the real server, except for times and
// names.
func TestSimulatedBrokerAnswersLikeServer(t *testing.T) {
	t.Parallel()
	nc, err := embeddedtest.Start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	want, got := answers(t, nc), answers(t, dial(t, newBroker(), "one"))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the double answers otherwise (-server +double)\n%s", d)
	}
}

// answers returns what a log and its server answer to a fixed list of requests.
func answers(t *testing.T, nc *nats.Conn) []string {
	t.Helper()
	ctx := t.Context()
	l := openLog(t, nc, &kept{})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	note := func(what string, m *nats.Msg) {
		h := m.Header
		h.Del("Nats-Time-Stamp")
		for _, k := range []string{"Nats-Response-Type"} {
			h.Del(k)
		}
		said = append(said, fmt.Sprintf("%s: %s %v %.60q", what, m.Subject, h, m.Data))
	}
	id := core.SessionID("session1")
	shard := l.Shard(id)
	subject := fmt.Sprintf("sess.main.%02d.%s", shard, id)
	live, err := nc.SubscribeSync("live." + subject)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	var after core.Pos
	for i := range 3 {
		r := &core.Record{Kind: core.KindAppend, Seq: uint64(i + 1), Head: core.MainHead, Writer: "w", Body: []byte(strings.Repeat("x", i*3000))}
		r.Chain = core.Chain{}.Next(r)
		if _, err := l.Append(ctx, id, after+1, r); err == nil {
			t.Fatal("stored behind what is not there")
		} else {
			said = append(said, err.Error())
		}
		if after, err = l.Append(ctx, id, after, r); err != nil {
			t.Fatal(err)
		}
		m, err := live.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		note("live", m)
	}
	s, err := js.Stream(ctx, fmt.Sprintf("SESS_main_%02d", shard))
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq < 5; seq++ {
		m, err := s.GetMsg(ctx, seq)
		if err != nil {
			said = append(said, err.Error())
			continue
		}
		note("get", &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
	}
	for _, ask := range []string{
		`{"seq":1,"next_by_subj":"` + subject + `","batch":2}`,
		`{"seq":3,"next_by_subj":"` + subject + `","batch":2}`,
		`{"seq":4,"next_by_subj":"` + subject + `","batch":2}`,
	} {
		inbox := nats.NewInbox()
		sub, err := nc.SubscribeSync(inbox)
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.PublishRequest("$JS.API.DIRECT.GET."+s.CachedInfo().Config.Name, inbox, []byte(ask)); err != nil {
			t.Fatal(err)
		}
		for {
			m, err := sub.NextMsg(5 * time.Second)
			if err != nil {
				t.Fatal(err)
			}
			m.Subject = ""
			note("direct", m)
			if m.Header.Get("Status") != "" {
				break
			}
		}
	}
	if _, err := nc.Request("sess.main.99.nobody", []byte("x"), time.Second); err != nil {
		said = append(said, err.Error())
	}
	ids, err := l.SessionsUpTo(ctx, shard, 2)
	said = append(said, fmt.Sprint("sessions ", ids, err))
	if err := s.Purge(ctx, jetstream.WithPurgeSequence(3)); err != nil {
		t.Fatal(err)
	}
	st, err := l.State(ctx, shard)
	said = append(said, fmt.Sprint("after the purge ", st.First, st.Last, st.Messages, st.Sessions, err))
	return said
}
