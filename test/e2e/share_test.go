package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// ownersOf returns which of the running nodes own each shard.
func ownersOf(t *testing.T, nodes []*harness.Node) (owners map[int][]string, err error) {
	owners = map[int][]string{}
	for _, n := range nodes {
		s, err := n.Client().Status(harness.Timeout(t))
		if err != nil {
			return nil, err
		}
		for _, sh := range s.Shards {
			if sh.Work.Mine {
				owners[sh.Work.Shard] = append(owners[sh.Work.Shard], s.Node)
			}
		}
	}
	return owners, nil
}

// awaitOwners waits until every shard has exactly one owner and every node owns some.
// With the names of these tests each node has a share; one without is not known to the
// others yet.
func awaitOwners(t *testing.T, nodes []*harness.Node, shards int) (owners map[int][]string) {
	t.Helper()
	harness.Await(t, "one node for every shard", func() (err error) {
		if owners, err = ownersOf(t, nodes); err != nil {
			return err
		}
		at := map[string]bool{}
		for shard := range shards {
			if len(owners[shard]) != 1 {
				return fmt.Errorf("shard %d is owned by %q", shard, owners[shard])
			}
			at[owners[shard][0]] = true
		}
		if len(at) != len(nodes) {
			return fmt.Errorf("%d of %d nodes own shards: %v", len(at), len(nodes), owners)
		}
		return nil
	})
	return owners
}

func TestShardsOfDeadNodeGetNewOwners(t *testing.T) {
	t.Parallel()
	bucket := harness.StartBucket(t)
	const shards = 8
	nodes := harness.StartCluster(t, 3, bucket, "--snapshots-idle", "1s", "--log-shards", "8")
	before := awaitOwners(t, nodes, shards)

	// The node with the most shards dies, right after a write to a session in each of
	// them.
	count := map[string]int{}
	dead := 0
	for _, of := range before {
		count[of[0]]++
	}
	for i := range nodes {
		if count[fmt.Sprintf("n%d", i+1)] > count[fmt.Sprintf("n%d", dead+1)] {
			dead = i
		}
	}
	living := append(append([]*harness.Node{}, nodes[:dead]...), nodes[dead+1:]...)
	var ids []string
	for range 24 {
		file := harness.NewFile(t, harness.Shape{Turns: 2})
		ids = append(ids, importFile(t, living[0].Client(), file))
	}
	nodes[dead].Kill()
	killed := time.Now()
	for _, id := range ids {
		appendText(t, living[0].Client(), id, "when the node was dead", client.AppendOptions{})
	}
	after := awaitOwners(t, living, shards)
	took := time.Since(killed)
	for _, id := range ids {
		harness.Await(t, "a snapshot of session "+id, func() error {
			info, err := living[1].Client().Info(harness.Timeout(t), id)
			if err != nil {
				return err
			}
			if info.Log.Checkpoint == 0 {
				return fmt.Errorf("no snapshot, %v after the kill", time.Since(killed))
			}
			return nil
		})
	}
	t.Logf("node n%d looked after %d shards; others do since %v after it was killed; all %d sessions have snapshots %v after it", dead+1, count[fmt.Sprintf("n%d", dead+1)], took, len(ids), time.Since(killed))
	for shard, of := range before {
		if of[0] != fmt.Sprintf("n%d", dead+1) && after[shard][0] != of[0] {
			t.Errorf("shard %d moved from %s, which still runs, to %s", shard, of[0], after[shard][0])
		}
	}

	// It returns and owns the same shards again.
	nodes[dead].Start(t)
	harness.Await(t, "the shards to be looked after as before", func() error {
		now, err := ownersOf(t, nodes)
		if err != nil {
			return err
		}
		if fmt.Sprint(now) != fmt.Sprint(before) {
			return fmt.Errorf("they were %v and are %v", before, now)
		}
		return nil
	})
	for _, id := range ids {
		intact(t, nodes[dead].Client(), id)
	}
}
