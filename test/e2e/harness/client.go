package harness

import (
	"fmt"
	"io"
	"testing"

	"github.com/sesslog/sesslog/api/client"
)

// Export returns the session as a file of its agent.
func Export(tb testing.TB, c *client.Client, id string) []byte {
	tb.Helper()
	r, err := c.Export(Timeout(tb), id, false)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Ends returns the seq and chain of the last record of each session.
func Ends(tb testing.TB, c *client.Client) map[string]string {
	tb.Helper()
	ends := map[string]string{}
	for shard, shards := 0, 1; shard < shards; shard++ {
		e, err := c.Ends(Timeout(tb), shard)
		if err != nil {
			tb.Fatal(err)
		}
		shards = e.Shards
		for _, s := range e.Sessions {
			ends[string(s.Session)] = fmt.Sprintf("%d-%s", s.Seq, s.Chain)
		}
	}
	return ends
}
