package faults_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver of the node's index

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A place is the part of a message's record in which a bit is flipped. In a block of
// JetStream, a record is: length, sequence, time (4, 8 and 8 bytes), length of the
// subject (2), the subject, length of the headers (4), headers, body, and a checksum of
// 8 bytes.
type place string

const (
	inLength  place = "length"
	inSubject place = "subject"
	inHeader  place = "header"
	inBody    place = "body"
	inSum     place = "checksum"
)

var places = []place{inLength, inSubject, inHeader, inBody, inSum}

// flipRecord flips a bit of the message of session id that contains words, in the block
// file that contains the message.
func flipRecord(t *testing.T, node *harness.Node, id, words string, p place) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(node.Data, "nats", "jetstream", "$G", "streams", "SESS_main_*", "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range blocks {
		b := testkit.ReadFile(t, path)
		body := bytes.Index(b, []byte(words))
		if body < 0 {
			continue
		}
		b[offset(b, id, body, p)] ^= 1
		testkit.WriteFile(t, path, b)
		return
	}
	t.Fatalf("no block of %s holds %q", node.Data, words)
}

func offset(b []byte, id string, body int, p place) int {
	subject := bytes.LastIndex(b[:body], []byte(id))
	header := bytes.LastIndex(b[:body], []byte("NATS/1.0"))
	start := bytes.LastIndex(b[:subject], []byte("sess.main.")) - 22
	switch p {
	case inLength:
		return start + 1
	case inSubject:
		return subject + 3
	case inHeader:
		return header + bytes.Index(b[header:], []byte("Sess-Writer: ")) + 15
	case inSum:
		length := int(b[start]) | int(b[start+1])<<8
		return start + length - 3
	}
	return body + 1
}

// writeInPlace overwrites the beginning of a file that other processes may have open.
func writeInPlace(t *testing.T, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
}

// twoSessions are two sessions that alternate in one stream, so that each has records
// before and after those of the other.
type twoSessions struct {
	bad, good   string // ids
	wants, want []byte // their files
}

func fillTwo(t *testing.T, c *client.Client) twoSessions {
	t.Helper()
	s := twoSessions{bad: newSession(t, c), good: newSession(t, c)}
	for n := range 10 {
		say(t, c, s.bad, fmt.Sprintf("bad-%d-", n), client.AppendOptions{})
		say(t, c, s.good, fmt.Sprintf("good-%d-", n), client.AppendOptions{})
	}
	s.wants, s.want = mustExport(t, c, s.bad), mustExport(t, c, s.good)
	return s
}

// After a clean stop, JetStream continues reading after a corrupt record. One session
// then lacks a record, and the other is intact.
func TestFlippedBitInRecordIsReportedAndAffectsOneSession(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		if p == inLength {
			continue // later records cannot be found: see the next test
		}
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			node := harness.StartNode(t, "--log-shards", "1")
			c := node.Client()
			s := fillTwo(t, c)
			node.Terminate(t)
			flipRecord(t, node, s.bad, "bad-5-", p)
			node.Start(t)

			if got, err := export(t, c, s.bad); !errors.Is(err, core.ErrCorrupt) {
				t.Errorf("a damaged session: %v, and %d bytes of it", err, len(got))
			}
			found := problems(t, c, s.bad)
			if len(found) != 1 || found[0].Kind != "hole" {
				t.Errorf("verify finds %+v", found)
			}
			host := harness.NewHost(t, node)
			if r := host.Sessctl(t, "verify", s.bad); r.Code != 8 {
				t.Errorf("sessctl verify: %s", r)
			}
			say(t, c, s.good, "and on", client.AppendOptions{})
			if got := mustExport(t, c, s.good); !bytes.HasPrefix(got, s.want) {
				t.Error("another session was changed")
			}
			intact(t, c, s.good)
			say(t, c, newSession(t, c), "a new one", client.AppendOptions{})
		})
	}
}

// After an unclean stop, or if the server cannot find the next record, it silently
// truncates the block at the corruption. The lost records were acknowledged, so the node
// must report the loss.
func TestBlockTruncatedAtFlippedBitIsReportedAsLoss(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			node := harness.StartNode(t, "--log-shards", "1")
			c := node.Client()
			s := fillTwo(t, c)
			awaitRows(t, node, 11, s.bad, s.good)
			node.Terminate(t)
			flipRecord(t, node, s.bad, "bad-5-", p)
			index := filepath.Join(node.Data, "nats", "jetstream", "$G", "streams", "SESS_main_00", "msgs", "index.db")
			if err := os.Remove(index); err != nil { // as after a kill
				t.Fatal(err)
			}
			node.Start(t)
			for id, want := range map[string][]byte{s.bad: s.wants, s.good: s.want} {
				if got := mustExport(t, c, id); !bytes.HasPrefix(want, got) || len(got) == len(want) {
					t.Errorf("session %s has %d bytes, which are no beginning of %d", id, len(got), len(want))
				}
				harness.Await(t, "the loss is said", func() error {
					found := problems(t, c, id)
					lost := slices.ContainsFunc(found, func(p report.Problem) bool { return strings.Contains(p.Detail, "lost") })
					if !lost && !strings.Contains(node.Log(), "lost records") {
						return fmt.Errorf("verify finds %+v, and the log says nothing", found)
					}
					return nil
				})
				acceptLoss(t, c, id)
				say(t, c, id, "and on", client.AppendOptions{})
			}
		})
	}
}

// acceptLoss fails the test unless a session whose lost records nothing has accepts no
// writes, and accepts them once an operator has accepted the loss.
func acceptLoss(t *testing.T, c *client.Client, id string) {
	t.Helper()
	if _, err := c.Append(harness.Timeout(t), id, []byte(harness.Message("user", "too early")), client.AppendOptions{}); !errors.Is(err, core.ErrCorrupt) {
		t.Errorf("a write to a session with a loss: %v", err)
	}
	st, err := c.Status(harness.Timeout(t))
	if err != nil || st.Healthy {
		t.Errorf("status: %q, %v", st.Summary, err)
	}
	if _, err := c.AcceptLoss(harness.Timeout(t), id); err != nil {
		t.Errorf("accept the loss: %v", err)
	}
}

// awaitRows returns once the index on the node's disk has rows of record want of the
// sessions, about a second later. The node detects a loss from them.
func awaitRows(t *testing.T, node *harness.Node, want int, ids ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(node.Data, "index.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	harness.Await(t, "the rows are saved", func() error {
		for _, id := range ids {
			var seq int
			err := db.QueryRowContext(t.Context(), `SELECT seq FROM sessions WHERE id = ?`, id).Scan(&seq)
			if err != nil || seq != want {
				return fmt.Errorf("the row of %s says %d, %v", id, seq, err)
			}
		}
		return nil
	})
}

// A bit is flipped in a file of the blob store.
func TestFlippedBitInBlobOrSnapshotIsReportedAndNotServed(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t, "--blobs-cache", "0")
	c := node.Client()
	file := harness.Generate(chance(t).Uint64(), harness.Shape{Turns: 10, Images: 1})
	if _, err := c.Import(harness.Timeout(t), bytes.NewReader(file.Bytes), int64(len(file.Bytes)), client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	other := newSession(t, c)
	say(t, c, other, "something else", client.AppendOptions{})
	if _, err := c.Checkpoint(harness.Timeout(t), file.ID); err != nil {
		t.Fatal(err)
	}
	for kind, below := range map[string]string{"blob": "blobs/sha256", "snapshot": "snapshots/main/" + file.ID} {
		flipped := flipFile(t, filepath.Join(node.Data, "blobs", below))
		node.Kill()
		node.Start(t)
		found := problems(t, c, file.ID)
		if len(found) != 1 || string(found[0].Kind) != kind {
			t.Errorf("%s: verify finds %+v", kind, found)
		}
		got, err := export(t, c, file.ID)
		switch kind {
		case "blob":
			if !errors.Is(err, core.ErrCorrupt) {
				t.Errorf("an export with a damaged image: %v", err)
			}
		case "snapshot":
			if err != nil || !bytes.Equal(got, file.Bytes) {
				t.Errorf("a session whose snapshot is damaged: %v", err)
			}
			if _, _, err := c.Snapshot(harness.Timeout(t), file.ID); !errors.Is(err, core.ErrCorrupt) {
				t.Errorf("a damaged snapshot is handed out: %v", err)
			}
		}
		saysCorrupt(t, c, file.ID, true)
		say(t, c, other, "still", client.AppendOptions{})
		intact(t, c, other)
		flipped() // flip it back
		saysCorrupt(t, c, file.ID, false)
		intact(t, c, file.ID)
	}
}

// saysCorrupt fails the test unless doctor and then status report a session as corrupt,
// or do not.
func saysCorrupt(t *testing.T, c *client.Client, id string, want bool) {
	t.Helper()
	found, err := c.Doctor(harness.Timeout(t), false)
	if err != nil {
		t.Fatal(err)
	}
	says := slices.ContainsFunc(found.Findings, func(f report.Finding) bool { return f.Check == "corruption" && f.What == id })
	if says != want {
		t.Errorf("doctor reports a corrupt session: %v, want %v: %+v", says, want, found.Findings)
	}
	st, err := c.Status(harness.Timeout(t))
	if err != nil || st.Healthy == want {
		t.Errorf("status: %q, %v", st.Summary, err)
	}
}

// flipFile flips a bit in the middle of the first file below dir, and returns a function
// that flips it back.
func flipFile(t *testing.T, dir string) func() {
	t.Helper()
	var path string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			path = p
			return fs.SkipAll
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no file below %s: %v", dir, err)
	}
	flip := func() {
		b := testkit.ReadFile(t, path)
		b[len(b)/2] ^= 1
		testkit.WriteFile(t, path, b)
	}
	flip()
	return flip
}

// Corruption of one of three replicas loses no record, whichever replica leads later.
func TestFlippedBitInOneOfThreeReplicasLosesNothing(t *testing.T) {
	if !*long {
		t.Skip("with -long")
	}
	t.Parallel()
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t), "--log-shards", "1")
	var f figures
	w := write(t, newSession(t, nodes[0].Client()), 4, inTurn(nodes))
	for i := range len(places) {
		w.await(100)
		hurt := nodes[i%3]
		hurt.Kill()
		p := places[i]
		flipRecord(t, hurt, w.id, fmt.Sprint(said{0, w.reached(0) / 2}), p)
		f.fault("bit flipped in " + string(p))
		w.await(20) // the other nodes continue
		hurt.Start(t)
		f.recovered(w.await(20))
		for _, n := range nodes { // stop each of the others once, so that the corrupt one is needed
			if n == hurt {
				continue
			}
			n.Kill()
			f.fault("kill")
			f.recovered(w.await(20))
			n.Start(t)
			w.await(20)
		}
	}
	w.leave()
	want := mustExport(t, nodes[0].Client(), w.id)
	f.add(t, w, want)
	for i, n := range nodes {
		if got := mustExport(t, n.Client(), w.id); !bytes.Equal(got, want) {
			t.Errorf("node %d shows another session", i+1)
		}
		intact(t, n.Client(), w.id)
	}
	f.report(t)
}
