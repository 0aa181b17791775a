package pi_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// longSession is a file of n entries, each the parent of the next.
func longSession(n int) []byte {
	var b bytes.Buffer
	b.WriteString(header + "\n")
	filler := bytes.Repeat([]byte(`some output of a tool, 12 lines\n`), 16)
	for i := range n {
		parent := fmt.Sprintf(`"%08x"`, i-1)
		if i == 0 {
			parent = "null"
		}
		role := `"user"`
		if i%2 == 1 {
			role = `"assistant","provider":"openai","model":"gpt","usage":{"input":10,"output":20,"cost":{"total":0.25}}`
		}
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-02T03:04:05.678Z",`+
			`"message":{"role":%s,"content":[{"type":"text","text":"%s"}],"timestamp":%d}}`+"\n", i, parent, role, filler, 1700000000000+int64(i))
	}
	return b.Bytes()
}

func BenchmarkContext(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, err := pi.Dialect{}.File(longSession(n))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (pi.Dialect{}).Context(f.Entries, core.Leaf{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFile(b *testing.B) {
	data := longSession(10_000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := (pi.Dialect{}).File(data); err != nil {
			b.Fatal(err)
		}
	}
}
