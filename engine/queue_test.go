package engine

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
)

func TestQueueLimitBoundsAllSessions(t *testing.T) {
	t.Parallel()
	var l queueLimit
	for range maxAppends {
		if err := l.acquire(1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.acquire(1); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("one append too many: %v", err)
	}
	for range maxAppends {
		l.release(1)
	}
	if err := l.acquire(maxAppendBytes + 1); err != nil {
		t.Errorf("a large append: %v", err)
	}
	if err := l.acquire(1); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("another append next to it: %v", err)
	}
	l.release(maxAppendBytes + 1)
	if l.appends != 0 || l.bytes != 0 || l.refused != 2 {
		t.Errorf("at the end: %d appends, %d bytes, %d rejected", l.appends, l.bytes, l.refused)
	}
}
