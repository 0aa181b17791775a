package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// After a restart of all brokers, presence is empty. Until writers have had time to
// send a heartbeat, held sessions must not be reported as interrupted.
func TestRestartedBrokersDoNotMakeSessionsInterrupted(t *testing.T) {
	t.Parallel()
	n := startNode(t, present(t))
	id := n.newSession(t)
	if _, err := n.Claim(t.Context(), id, core.ClaimRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err := n.List(t.Context(), catalog.Filter{State: catalog.StateInterrupted})
	if !errors.Is(err, core.ErrUnavailable) || !strings.Contains(err.Error(), "not known yet") {
		t.Errorf("the error does not say that the state is not known yet: %v", err)
	}
	page, err := n.List(t.Context(), catalog.Filter{State: catalog.StateHeld})
	if err != nil || len(page.Sessions) != 1 {
		t.Errorf("other listings: %+v, %v", page, err)
	}
}
