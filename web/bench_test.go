package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/internal/nodetest"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/web"
)

// BenchmarkTranscript measures the first answer about a session of 100,000 entries that
// is in memory.
func BenchmarkTranscript(b *testing.B) {
	n := nodetest.Start(b, nodetest.Config{Serve: func(c *server.Config) { c.Page = web.New("", c.Memory) }})
	var file strings.Builder
	file.WriteString(`{"type":"session","version":3,"id":"long-000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/dev/site"}` + "\n")
	for i := range 100_000 {
		file.WriteString(message(i, fmt.Sprint("text ", i)) + "\n")
	}
	_, err := n.Import(b.Context(), strings.NewReader(file.String()), int64(file.Len()), client.ImportOptions{})
	testkit.Must(b, err)
	for b.Loop() {
		res, err := http.Get(n.Base + "/sessions/long-000001")
		testkit.Must(b, err)
		_ = res.Body.Close()
	}
}
