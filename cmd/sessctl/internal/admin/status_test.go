package admin

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func TestStatusIsColored(t *testing.T) {
	t.Parallel()
	s := api.Status{Summary: "no quorum; no store", Reasons: []string{"no quorum", "no store"}}
	for _, c := range []struct {
		colour bool
		want   string
	}{{true, "state  \x1b[31mno quorum\x1b[0m\n       \x1b[31mno store\x1b[0m\n"}, {false, "state  no quorum\n       no store\n"}} {
		var out bytes.Buffer
		a := app{cli.New(func(string) string { return "" }, strings.NewReader(""), io.Discard, io.Discard)}
		a.Stdout = cli.Screen{Writer: &out, TTY: true, Colors: c.colour, Width: 80, Height: 24}
		if err := a.printStatus(s); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("%q", out.String())
		}
	}
}

func TestStatusFitsScreen(t *testing.T) {
	t.Parallel()
	s := api.Status{Healthy: true, Summary: allIsWell, Node: "n"}
	for range 64 {
		s.Shards = append(s.Shards, api.ShardStatus{Stream: "SESS_main_00", Leader: "n"})
	}
	for _, height := range []int{10, 24, 100} {
		var out bytes.Buffer
		a := app{cli.New(func(string) string { return "" }, strings.NewReader(""), io.Discard, io.Discard)}
		a.Stdout = cli.Screen{Writer: &out, TTY: true, Width: 80, Height: height}
		if err := a.printStatus(s); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n >= height {
			t.Errorf("%d lines on a screen of %d:\n%s", n, height, out.String())
		}
	}
}
