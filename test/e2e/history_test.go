package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// OMP-43: prompts survive a kill of the node and the loss of its index.
func TestPromptsSurviveKillAndLostIndex(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	id := importFile(t, node.Client(), harness.NewFile(t, harness.Shape{Turns: 20}))
	host := harness.NewHost(t, node)
	host.Feed(t, harness.Message("user", "where is the needle?")+"\n", "append", id)

	var before, after, found []catalog.Prompt
	host.JSON(t, &before, "history", "--limit", "0")
	host.JSON(t, &found, "history", "NEEDLE?", "--session", id)
	if len(before) < 2 || len(found) != 1 || found[0].Prompt != "where is the needle?" {
		t.Fatalf("%d prompts, found %+v", len(before), found)
	}
	for _, lose := range []bool{false, true} {
		node.Kill()
		if lose {
			if err := os.Remove(filepath.Join(node.Data, "index.db")); err != nil {
				t.Fatal(err)
			}
		}
		node.Start(t)
		harness.NewHost(t, node).JSON(t, &after, "history", "--limit", "0")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("index lost %v: %s", lose, diff)
		}
	}
}
