package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A session of pi is converted into a file of every other agent, images included. The
// import of that file is a separate session.
func TestConvertedSessionIsImportedAsAnother(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	id := importFile(t, node.Client(), harness.NewFile(t, harness.Shape{Turns: 6, Images: 3}))
	image := harness.ImageMessage(7, "the picture", 4000) + "\n"
	host.Feed(t, image, "append", id)
	var line struct {
		Message struct {
			Content []struct{ Data string }
		}
	}
	if err := json.Unmarshal([]byte(image), &line); err != nil {
		t.Fatal(err)
	}
	for _, as := range []string{"omp", "operator"} {
		file := filepath.Join(t.TempDir(), as+".jsonl")
		if res := host.Sessctl(t, "export", "--as", as, id, "--out", file); res.Code != 0 {
			t.Fatalf("as %s: %v", as, res)
		}
		data := testkit.ReadFile(t, file)
		for _, block := range line.Message.Content {
			if !strings.Contains(string(data), block.Data) {
				t.Errorf("as %s: the image is not in the file", as)
			}
		}
		var done struct{ Session string }
		host.JSON(t, &done, "import", file)
		if done.Session == id {
			t.Errorf("as %s: the import has the same session ID", as)
		}
		sameBytes(t, as, harness.Export(t, node.Client(), done.Session), data)
		intact(t, node.Client(), done.Session)
	}
}
