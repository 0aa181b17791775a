package stream

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
)

// replicas is a fake JetStream for one stream with a session's records at positions 1,
// 2 and so on. The replica that answers direct gets lacks some of them.
type replicas struct {
	t       *testing.T
	nc      *nats.Conn
	log     *Log
	msgs    []*nats.Msg  // from position 1
	lacks   map[int]bool // missing on the replica
	leader  map[int]bool // missing on the first leader
	lost    map[int]bool // missing on all servers
	damaged map[int]bool // on the replica, the server's headers cannot be read
	leads   atomic.Int64 // number of step-downs; later leaders lack only lost records
}

const replicatedID = core.SessionID("session-of-copies")

func newReplicas(t *testing.T, records int) *replicas {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server did not start")
	}
	dial := func() *nats.Conn {
		nc, err := nats.Connect(s.ClientURL())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	c := &replicas{t: t, nc: dial(), lacks: map[int]bool{}, leader: map[int]bool{}, lost: map[int]bool{}, damaged: map[int]bool{}}
	nc := dial()
	c.log = &Log{cfg: LogConfig{Name: "main", Shards: 1, AckWait: 5 * time.Second}, nc: nc, inbox: inbox{nc: nc}}
	chain := core.ChainStart("main", replicatedID)
	for n := 1; n <= records; n++ {
		r := &core.Record{Kind: core.KindAppend, Seq: uint64(n), Head: "main", Writer: "w", Body: []byte(strconv.Itoa(n))}
		r.Chain = chain.Next(r)
		chain = r.Chain
		f, err := pack(r)
		if err != nil {
			t.Fatal(err)
		}
		m := f.message(c.log.subject(replicatedID))
		m.Header.Set(hdrExpected, strconv.Itoa(n-1))
		c.msgs = append(c.msgs, m)
	}
	for subject, answer := range map[string]nats.MsgHandler{
		"$JS.API.DIRECT.GET." + streamName("main", 0):     c.batch,
		"$JS.API.STREAM.MSG.GET." + streamName("main", 0): c.get,
		"$JS.API.STREAM.INFO." + streamName("main", 0):    c.info,
		"$JS.API.STREAM.LEADER.STEPDOWN." + streamName("main", 0): func(m *nats.Msg) {
			c.leads.Add(1)
			_ = m.Respond([]byte(`{"success":true}`))
		},
	} {
		if _, err := c.nc.Subscribe(subject, answer); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return c
}

// batch answers a direct get from the replica.
func (c *replicas) batch(m *nats.Msg) {
	var ask struct{ Seq, Batch int }
	if err := json.Unmarshal(m.Data, &ask); err != nil {
		c.t.Error(err)
	}
	before, sent := 0, 0
	for n := ask.Seq; n <= len(c.msgs) && sent < ask.Batch; n++ {
		if c.lacks[n] {
			continue
		}
		sent++
		out := nats.NewMsg(m.Reply)
		out.Data = c.msgs[n-1].Data
		for k, v := range c.msgs[n-1].Header {
			out.Header[k] = v
		}
		if !c.damaged[n] {
			out.Header.Set("Nats-Stream", streamName("main", 0))
		}
		out.Header.Set("Nats-Subject", c.msgs[n-1].Subject)
		out.Header.Set("Nats-Sequence", strconv.Itoa(n))
		out.Header.Set("Nats-Last-Sequence", strconv.Itoa(before))
		before = n
		_ = c.nc.PublishMsg(out)
	}
	end := nats.NewMsg(m.Reply)
	end.Header.Set("Status", "204")
	end.Header.Set("Nats-Last-Sequence", strconv.Itoa(before))
	_ = c.nc.PublishMsg(end)
}

// get answers as the leader.
func (c *replicas) get(m *nats.Msg) {
	var ask struct {
		Seq  int
		Next string `json:"next_by_subj"`
	}
	if err := json.Unmarshal(m.Data, &ask); err != nil {
		c.t.Error(err)
	}
	for ask.Next != "" && (c.lost[ask.Seq] || c.leads.Load() == 0 && c.leader[ask.Seq]) {
		ask.Seq++
	}
	if ask.Seq > len(c.msgs) || c.lost[ask.Seq] || c.leads.Load() == 0 && c.leader[ask.Seq] {
		_ = m.Respond([]byte(`{"error":{"code":404,"err_code":10037,"description":"no message found"}}`))
		return
	}
	var got storedMsg
	stored := c.msgs[ask.Seq-1]
	got.Message = &struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	}{stored.Subject, uint64(ask.Seq), headerBytes(stored.Header), stored.Data, time.Now()}
	b, err := json.Marshal(got)
	if err != nil {
		c.t.Error(err)
	}
	_ = m.Respond(b)
}

func (c *replicas) info(m *nats.Msg) {
	_ = m.Respond(fmt.Appendf(nil, `{"config":{"name":"SESS_main_00","num_replicas":3},"state":{"first_seq":1},"cluster":{"leader":"n%d"}}`, c.leads.Load()))
}

func headerBytes(h nats.Header) []byte {
	b := []byte("NATS/1.0\r\n")
	for k, vs := range h {
		for _, v := range vs {
			b = append(b, k+": "+v+"\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

func TestReadBackfillsMissingRecordsFromLeader(t *testing.T) {
	t.Parallel()
	for name, lacks := range map[string][]int{"nothing": nil, "one": {3}, "several in a row": {3, 4, 5}, "every other": {3, 5, 7}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newReplicas(t, 8)
			for _, n := range lacks {
				c.lacks[n] = true
			}
			want := core.Pos(2) // the first record after position 1
			for r, err := range c.log.Read(t.Context(), replicatedID, 1, 8) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Pos != want || string(r.Body) != strconv.Itoa(int(want)) || r.Backfilled != c.lacks[int(want)] {
					t.Fatalf("record at %d: body %q, Backfilled %v; want the one at %d", r.Pos, r.Body, r.Backfilled, want)
				}
				want++
			}
			if want != 9 {
				t.Errorf("read ended at %d", want)
			}
			if n := c.log.backfilled.Load(); n != uint64(len(lacks)) {
				t.Errorf("%d records were backfilled, %d were missing", n, len(lacks))
			}
		})
	}
}

func TestReadSkipsRecordsThatAllReplicasLack(t *testing.T) {
	t.Parallel()
	c := newReplicas(t, 8)
	c.lacks[4], c.lost[4] = true, true
	var got []core.Pos
	for r, err := range c.log.Read(t.Context(), replicatedID, 1, 8) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Backfilled {
			t.Errorf("record at %d was backfilled", r.Pos)
		}
		got = append(got, r.Pos)
	}
	if len(got) != 6 {
		t.Errorf("read yielded %v", got)
	}
	for _, err := range c.log.Read(t.Context(), replicatedID, 1, 8) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := c.leads.Load(); n != 1 {
		t.Errorf("%d leaders stepped down, want 1: a record that all replicas lack must not stop the log", n)
	}
}

func TestLeaderThatLacksRecordStepsDown(t *testing.T) {
	t.Parallel()
	c := newReplicas(t, 8)
	c.lacks[4], c.leader[4] = true, true
	want := core.Pos(2)
	for r, err := range c.log.Read(t.Context(), replicatedID, 1, 8) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Pos != want {
			t.Fatalf("record at %d, want the one at %d", r.Pos, want)
		}
		want++
	}
	if n := c.leads.Load(); want != 9 || n != 1 {
		t.Errorf("read ended at %d, %d leaders stepped down", want, n)
	}
}

func TestReadTakesDamagedRecordFromLeader(t *testing.T) {
	t.Parallel()
	for name, damaged := range map[string][]int{"first": {2}, "one": {4}, "several": {4, 5, 7}, "last": {8}, "all": {2, 3, 4, 5, 6, 7, 8}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newReplicas(t, 8)
			for _, n := range damaged {
				c.damaged[n] = true
			}
			want := core.Pos(2)
			for r, err := range c.log.Read(t.Context(), replicatedID, 1, 8) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Pos != want || string(r.Body) != strconv.Itoa(int(want)) || r.Backfilled != c.damaged[int(want)] {
					t.Fatalf("record at %d: body %q, Backfilled %v; want the one at %d", r.Pos, r.Body, r.Backfilled, want)
				}
				want++
			}
			if n := c.leads.Load(); want != 9 || n != 0 {
				t.Errorf("read ended at %d, %d leaders stepped down", want, n)
			}
		})
	}
}

func TestReadOfRecordThatIsDamagedAndLostEnds(t *testing.T) {
	t.Parallel()
	c := newReplicas(t, 8)
	c.damaged[4], c.lost[4] = true, true
	var got []core.Pos
	for r, err := range c.log.Read(t.Context(), replicatedID, 1, 8) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Pos)
	}
	if !slices.Equal(got, []core.Pos{2, 3, 5, 6, 7, 8}) {
		t.Errorf("read yielded %v", got)
	}
}

func TestLaggingReplicaDoesNotBlockReads(t *testing.T) {
	t.Parallel()
	c := newReplicas(t, 8)
	c.lacks[7], c.lacks[8] = true, true
	at := core.Pos(1)
	for idle := 0; at < 8; idle++ {
		for r, err := range eager(t.Context(), c.log.scanUpTo(t.Context(), replicatedID, at, 8, readBytes, idle)) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Pos != at+1 || r.Backfilled {
				t.Fatalf("record at %d after %d, Backfilled %v: lag is not corruption", r.Pos, at, r.Backfilled)
			}
			at = r.Pos
		}
	}
}
