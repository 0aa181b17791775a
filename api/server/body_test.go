package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/memory"
)

func bodyServer() *Server {
	s := &Server{}
	s.cfg.MaxBody = 1 << 20
	s.limiters = newLimiters(memory.NewBudget("test", 64<<20))
	return s
}

// A body is returned whole, announced or not, and whatever its size.
func TestReadBody(t *testing.T) {
	t.Parallel()
	s := bodyServer()
	for _, size := range []int{0, 1, 511, 4096, 4097, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20} {
		want := bytes.Repeat([]byte("x"), size)
		for _, announced := range []int64{int64(size), -1} {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/", io.NopCloser(bytes.NewReader(want)))
			r.ContentLength = announced
			got, release, err := s.readBody(r)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, announced as %d: %d, %v", size, announced, len(got), err)
				continue
			}
			release()
		}
	}
}

// BenchmarkReadBody shows what the body of an append allocates.
//
//	go test ./api/server -run - -bench ReadBody
func BenchmarkReadBody(b *testing.B) {
	for _, size := range []int{1 << 10, 100 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := bodyServer()
			line := strings.NewReader(strings.Repeat("x", size))
			r := httptest.NewRequestWithContext(b.Context(), "POST", "/", io.NopCloser(line))
			r.ContentLength = int64(size)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = line.Seek(0, io.SeekStart)
				_, release, err := s.readBody(r)
				if err != nil {
					b.Fatal(err)
				}
				release()
			}
		})
	}
}
