package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

func TestGatewayErrorLeavesAppendOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadGateway, http.StatusGatewayTimeout} {
		gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		t.Cleanup(gateway.Close)
		c := &client.Client{Base: gateway.URL}
		if _, err := c.Append(t.Context(), "s", []byte("{}\n"), client.AppendOptions{}); !errors.Is(err, core.ErrUncertain) {
			t.Errorf("an append through a gateway that says %d: %v, want an error with an unknown outcome", status, err)
		}
		if _, err := c.Heads(t.Context(), "s"); !errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain) {
			t.Errorf("a read through a gateway that says %d: %v, want core.ErrUnavailable", status, err)
		}
	}
}
