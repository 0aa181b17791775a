package agents

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/session/notice"
)

// Sessions that changed are remembered, but not those of all time.
func TestFirstSplitOfASessionWithoutHolderIsNoticed(t *testing.T) {
	t.Parallel()
	a := app{cli.New(func(string) string { return "" }, strings.NewReader(""), io.Discard, io.Discard)}
	w := &noticeWatcher{app: a, queue: make(chan notice.Notice, maxWaiting), rows: map[core.SessionID]*catalog.Row{}}
	change := func(id string, seq uint64, heads ...string) {
		w.change(t.Context(), api.RowChange{ID: core.SessionID(id), Row: &catalog.Row{ID: core.SessionID(id), Dialect: "pi", Seq: seq, Heads: heads}})
	}
	change("a-000001", 1)
	change("a-000001", 2, "main-1")
	change("b-000001", 7, "main-1") // may be older than the watcher
	if len(w.queue) != 1 {
		t.Fatalf("%d notices", len(w.queue))
	}
	if n := <-w.queue; n.Kind != notice.Split || n.Session != "a-000001" || n.Head != "main-1" {
		t.Errorf("the notice is %+v", n)
	}
	for i := range maxRows {
		change(fmt.Sprintf("c-%06d", i), 1)
	}
	if len(w.rows) > maxRows || w.rows["a-000001"] == nil {
		t.Errorf("%d sessions are remembered, a-000001 is %v", len(w.rows), w.rows["a-000001"])
	}
}
