package agents

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func TestRunPrintsCursors(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := app{cli.New(func(string) string { return "" }, strings.NewReader(""), io.Discard, &out)}
	a.Format = cli.JSON
	a.printRun("pi", agent.RunReport{
		Sessions: []agent.Result{{Session: "s-0001", Cursor: core.Cursor{Seq: 3}}},
		Earlier:  []agent.Result{{Session: "s-0002"}},
	})
	want := `{"sessions":[{"session":"s-0001","dialect":"","path":"","seq":"3-0000000000000000","waiting":0,"cursor":"3-0000000000000000"}],` +
		`"earlier":[{"session":"s-0002","dialect":"","path":"","waiting":0}]}` + "\n"
	if out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
	out.Reset()
	if a.printRun("pi", agent.RunReport{}); out.String() != `{"sessions":[]}`+"\n" {
		t.Errorf("got %s", out.String())
	}
}
