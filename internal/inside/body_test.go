package inside

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/memory"
)

func used(b *memory.Budget) int64 {
	n, _, _ := b.Stats()
	return n
}

func answerOf(t *testing.T, kind, text string, l *memory.Lease) io.ReadCloser {
	return countedBody(t.Context(), io.NopCloser(strings.NewReader(text)), http.Header{"Content-Type": {kind}}, l)
}

func TestLongLineCountsUntilTheNextIsRead(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	b := memory.NewBudget("test", 1<<30)
	body := answerOf(t, "application/x-ndjson", "short\n"+strings.Repeat("x", size)+"\nshort\n", b.Lease())
	buf := make([]byte, 4<<10)
	var most, last int64
	for {
		_, err := body.Read(buf)
		most, last = max(most, used(b)), used(b)
		if err == io.EOF {
			break
		}
	}
	if most < readWork*size || most > readWork*(size+growStep) || last != 0 {
		t.Errorf("at most %d bytes, %d at the end; the line has %d", most, last, size)
	}
	if err := body.Close(); err != nil || used(b) != 0 {
		t.Errorf("%v, %d bytes after the end", err, used(b))
	}
}

func TestOtherAnswerCountsUntilItsCallerEnds(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	b := memory.NewBudget("test", 1<<30)
	caller := b.Lease()
	body := answerOf(t, "application/json", strings.Repeat("1\n", size/2), caller)
	if _, err := io.Copy(io.Discard, body); err != nil || body.Close() != nil {
		t.Fatal(err)
	}
	if n := used(b); n < readWork*size-memory.Small || n > readWork*(size+growStep) {
		t.Errorf("%d bytes count of an answer of %d", n, size)
	}
	if caller.Release(); used(b) != 0 {
		t.Errorf("%d bytes after the caller ended", used(b))
	}
}

func TestAnswerBeyondTheBudgetIsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget("test", 4<<20)
		for range 2 { // the second exceeds the budget, as one may
			l := b.Lease()
			if err := l.Grow(t.Context(), 4<<20); err != nil {
				t.Fatal(err)
			}
			defer l.Release()
		}
		body := answerOf(t, "application/json", strings.Repeat("1\n", 2<<20), b.Lease())
		if _, err := io.Copy(io.Discard, body); !errors.Is(err, core.ErrUnavailable) {
			t.Error(err)
		}
		if _, err := io.Copy(io.Discard, answerOf(t, "application/json", "12", b.Lease())); err != nil {
			t.Error("a small answer:", err)
		}
		if _, err := io.Copy(io.Discard, answerOf(t, "application/json", strings.Repeat("1\n", 2<<20), nil)); err != nil {
			t.Error("without a lease:", err)
		}
	})
}
