package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// targetOf returns a backup target on an S3 server, and the settings by which a host
// reaches it.
func targetOf(b *harness.Bucket, h *harness.Host) []string {
	h.Env = append(h.Env, "AWS_ACCESS_KEY_ID="+b.AccessKey, "AWS_SECRET_ACCESS_KEY="+b.SecretKey,
		"AWS_ENDPOINT_URL="+b.Endpoint, "AWS_REGION="+b.Region, "AWS_CA_BUNDLE="+b.CAFile)
	return []string{"s3://" + b.Name + "/nightly/main"}
}

// copyOf returns the content of a session: its bytes, its end and its heads.
func copyOf(t *testing.T, c *client.Client, id string) string {
	t.Helper()
	heads, err := c.Heads(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.Write(harness.Export(t, c, id))
	for _, h := range heads.Heads {
		fmt.Fprintf(&out, "%s at %v since %d by %v\n", h.Head, h.Leaf, h.Seq, h.Claim)
	}
	return out.String()
}

// The drill: back up under load while the tool is killed repeatedly, lose the node and
// its disk, restore elsewhere, and compare everything.
func TestRestoreDrill(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"directory", "s3"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			drill(t, kind == "s3")
		})
	}
}

func drill(t *testing.T, s3 bool) {
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	to := []string{host.Path("backups")}
	if s3 {
		to = targetOf(harness.StartBucket(t), host)
	}
	cl := node.Client()
	var ids []string
	for range 4 {
		ids = append(ids, importFile(t, cl, harness.NewFile(t, harness.Shape{Turns: 5, Images: 3})))
	}
	closed := ids[3]
	if err := cl.Finish(harness.Timeout(t), closed, api.Notice{By: "me"}); err != nil {
		t.Fatal(err)
	}
	busy := []*crowd{}
	for _, id := range ids[:2] {
		busy = append(busy, gather(t, id, 2, func() *client.Client { return cl }))
	}

	// A backup that is killed at any moment leaves a state that the next one
	// continues.
	for range often(5) {
		busy[0].await(2)
		cmd := host.Command(harness.Timeout(t), t, "backup", "--to", to[0])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(150 * time.Millisecond)) // at a random moment: before, during or after any step
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}

	acked := []map[string]string{busy[0].said(), busy[1].said()}
	var taken backup.Taken
	host.JSON(t, &taken, "backup", "--to", to[0])
	if len(taken.Problems) > 0 || !taken.Strict || taken.Sessions != len(ids) {
		t.Fatalf("backup under load: %+v", taken)
	}
	for _, c := range busy {
		c.await(10)
		c.leave()
	}
	host.Do(t, "backup", "verify", to[0], "--all")

	// Entries that were acknowledged before the backup began are in it.
	early := harness.StartNode(t)
	elsewhere := harness.NewHost(t, early)
	elsewhere.Env = append(elsewhere.Env, slices.DeleteFunc(slices.Clone(host.Env), func(e string) bool { return strings.HasPrefix(e, "SESS_") })...)
	elsewhere.Do(t, "restore", "--from", to[0], "--all")
	for i := range busy {
		export := harness.Export(t, early.Client(), ids[i])
		allThere(t, export, acked[i])
		if !bytes.HasPrefix(harness.Export(t, cl, ids[i]), export) {
			t.Errorf("session %s is not a prefix of its later state", ids[i])
		}
	}

	// The last backup, of an idle log, has everything, byte for byte. Then the node is
	// lost.
	host.JSON(t, &taken, "backup", "--to", to[0])
	ends := harness.Ends(t, cl)
	want := map[string]string{}
	for _, id := range ids {
		want[id] = copyOf(t, cl, id)
	}
	host.JSON(t, &taken, "backup", "--to", to[0])
	if changed := harness.Ends(t, cl); maps.Equal(ends, changed) && (taken.Read != 0 || taken.Sent != 0 || taken.Unchanged != len(ids)) {
		t.Errorf("a backup without changes: %+v", taken)
	}
	node.Kill()

	fresh := harness.StartNode(t)
	elsewhere.URL = fresh.URL
	elsewhere.Do(t, "restore", "--from", to[0], "--all", "--dry-run")
	if got := harness.Ends(t, fresh.Client()); len(got) != 0 {
		t.Errorf("a dry run stored %v", got)
	}
	for range often(3) { // a restore may be killed as well
		cmd := elsewhere.Command(harness.Timeout(t), t, "restore", "--from", to[0], "--all")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(200 * time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for _, n := range []*harness.Node{fresh, early} { // into a new log, and after what an earlier backup restored
		elsewhere.URL = n.URL
		elsewhere.Do(t, "restore", "--from", to[0], "--all")
		got := harness.Ends(t, n.Client())
		for _, id := range ids {
			if taken.Unchanged == len(ids) && got[id] != ends[id] {
				t.Errorf("session %s ends at %s, want %s", id, got[id], ends[id])
			}
			if copyOf(t, n.Client(), id) != want[id] {
				t.Errorf("session %s differs after the restore", id)
			}
			intact(t, n.Client(), id)
		}
		if line := elsewhere.Do(t, "restore", "--from", to[0], ids[0]); !strings.Contains(line, "the same as in the log") {
			t.Errorf("restored again: %s", line)
		}
	}
	if _, err := fresh.Client().Append(context.Background(), closed, []byte(harness.Message("user", "and on")), client.AppendOptions{}); err != nil {
		t.Errorf("an append after the restore: %v", err)
	}
}
