package web_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/nodetest"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/web"
)

// BenchmarkLongTranscript measures the answers about sessions of 100,000 entries that are
// in memory: the page, and parts of it. The times of the parts should not differ much.
func BenchmarkLongTranscript(b *testing.B) {
	n := nodetest.Start(b, nodetest.Config{Serve: func(c *server.Config) { c.Page = web.New("", c.Memory) }})
	const count = 100_000
	for name, d := range dialect.All() {
		said, _ := d.Write(item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockText, Text: "what was said"}}})
		if said == nil { // its sessions hold no messages
			continue
		}
		id := "long-session-" + name
		_, err := n.Create(b.Context(), api.Create{ID: id, Dialect: name, CWD: "/home/dev/site"})
		testkit.Must(b, err)
		for range count / 1000 {
			_, err := n.Append(b.Context(), id, bytes.Repeat(append(said, '\n'), 1000), client.AppendOptions{})
			testkit.Must(b, err)
		}
		for _, path := range []string{"", "/entries?from=0&to=100", "/entries?from=50000&to=50100", "/entries?from=99900&to=100000"} {
			b.Run(fmt.Sprintf("%s%s", name, path), func(b *testing.B) {
				for b.Loop() {
					res, err := http.Get(n.Base + "/sessions/" + id + path)
					testkit.Must(b, err)
					_ = res.Body.Close()
					testkit.Equal(b, "status", http.StatusOK, res.StatusCode)
				}
			})
		}
	}
}
