package server

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
)

// However many callers take what they get, there is room for another, until only
// what is kept for admins is left.
func TestSharesLeaveRoomForOthersAndAdmins(t *testing.T) {
	t.Parallel()
	s := newShares(newLimiter("things", 1000, 0))
	var all []func()
	take := func(caller string, isAdmin bool) (n int64) {
		for {
			release, err := s.acquire(caller, isAdmin)
			if errors.Is(err, core.ErrUnavailable) {
				return n
			}
			all = append(all, release)
			n++
		}
	}
	if n := take("one", false); n != 475 {
		t.Errorf("the first caller gets %d of 1000", n)
	}
	for i := 0; s.full() == nil; i++ {
		if n := take(fmt.Sprint("caller ", i), false); n == 0 {
			t.Fatalf("caller %d gets nothing although the node is not full", i)
		}
	}
	if n := take("late", false); n != 0 {
		t.Errorf("a caller of a full node gets %d", n)
	}
	if n := take("admin", true); n != 25 {
		t.Errorf("an admin gets %d of the last 50", n)
	}
	for _, release := range all {
		release()
	}
	if b := s.bound(); b.Used != 0 || len(s.of) != 0 || s.full() != nil {
		t.Errorf("at the end: %+v, %v", b, s.of)
	}
}
