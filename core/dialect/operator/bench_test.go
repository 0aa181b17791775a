package operator_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

// longSession is a file of n entries, each the parent of the next.
func longSession(n int) []byte {
	var b bytes.Buffer
	b.WriteString(header + "\n")
	filler := bytes.Repeat([]byte(`some output of a tool, 12 lines\n`), 16)
	parent := ""
	for i := range n {
		role := `"user"`
		if i%2 == 1 {
			role = `"assistant","usage":{"input_tokens":10,"output_tokens":20,"cost":{"total":0.25}},"stop_reason":"stop"`
		}
		id := fmt.Sprintf("%08x", i)
		b.WriteString(says(id, parent, fmt.Sprintf(`{"contents":[{"type":"text","content":"%s"}],"id":"m","timestamp":1003.0,"role":%s}`, filler, role)) + "\n")
		parent = id
	}
	return b.Bytes()
}

func BenchmarkContext(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, err := operator.Dialect{}.File(longSession(n))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (operator.Dialect{}).Context(f.Entries, core.Leaf{}); err != nil {
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
		if _, err := (operator.Dialect{}).File(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTree(b *testing.B) {
	f, err := operator.Dialect{}.File(longSession(50_000))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		operator.Dialect{}.Tree(f.Entries)
	}
}
