package faults_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// roomy sets the streams' limit above the size of the disk, so that the disk fills first.
const roomy = "--nats-max-store=1GiB"

// After its disk was full, a server acknowledges nothing until it is restarted. It never
// acknowledges what it could not store.
func TestFullDiskLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	node := harness.NewNode(t, roomy)
	d := newDisk(t, node.Data, 48)
	node.Start(t)
	c := node.Client()
	w := write(t, newSession(t, c), 4, through(node))
	var f figures
	for range min(times(1), 3) {
		w.await(50)
		f.fault("disk full")
		free := d.fill(t, chance(t).Int64N(64<<10))
		w.awaitRefused(4)
		// An append with an unknown outcome blocks its session for a while.
		harness.Await(t, "a full disk, and reading", func() error {
			_, err := export(t, c, w.id)
			return err
		})
		complains(t, node, "no space left", "full")
		free()
		node.Kill()
		node.Start(t)
		f.recovered(w.await(20))
		healthy(t, node)
	}
	w.leave()
	f.add(t, w, mustExport(t, c, w.id))
	intact(t, c, w.id)
	f.report(t)
}

// A cluster continues without a member whose disk is full. The member returns once it
// has free space and is restarted.
func TestOneFullDiskOfThreeDoesNotStopTheCluster(t *testing.T) {
	t.Parallel()
	nodes := harness.NewCluster(t, 3, harness.StartBucket(t), roomy)
	poor := nodes[0]
	d := newDisk(t, poor.Data, 64)
	harness.StartAll(t, nodes)
	var sessions []*writers
	for range 4 { // so that the full node leads some of their streams
		sessions = append(sessions, write(t, newSession(t, poor.Client()), 2, inTurn(nodes)))
	}
	var f figures
	for range min(times(1), 3) {
		for _, w := range sessions {
			w.await(20)
		}
		f.fault("disk of one member full")
		free := d.fill(t, chance(t).Int64N(64<<10))
		harness.Await(t, "the member has met the end of its disk", func() error {
			if !strings.Contains(poor.Log(), "no space left") {
				return errors.New("its log says nothing of it")
			}
			return nil
		})
		for _, w := range sessions {
			f.recovered(w.await(20))
		}
		complains(t, poor, "no space left")
		for i, n := range nodes {
			if n != poor {
				healthy(t, n)
			}
			if _, err := export(t, n.Client(), sessions[0].id); err != nil {
				t.Errorf("node %d, reading: %v", i+1, err)
			}
		}
		free()
		poor.Kill()
		poor.Start(t)
		for _, w := range sessions {
			f.recovered(w.await(20))
		}
		healthy(t, poor)
	}
	for _, w := range sessions {
		w.leave()
		file := mustExport(t, poor.Client(), w.id)
		f.add(t, w, file)
		for i, n := range nodes {
			if got := mustExport(t, n.Client(), w.id); !bytes.Equal(got, file) {
				t.Errorf("node %d shows another session %s", i+1, w.id)
			}
		}
		intact(t, poor.Client(), w.id)
	}
	f.report(t)
}
