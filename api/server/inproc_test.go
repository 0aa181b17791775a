package server_test

import (
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
)

// Code inside the node's process reads and writes without a token or a certificate.
// It has no admin rights and gives other callers no access.
func TestInProcessCallerNeedsNoToken(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens, func(c *server.Config) { c.NeedCertificate = true })
	in := &client.Client{Base: "http://localhost", HTTP: n.Server.InProcessClient()}
	who, err := in.Whoami(t.Context())
	if err != nil || who.Scope != access.Write {
		t.Fatalf("%+v, %v", who, err)
	}
	made, err := in.Create(t.Context(), api.Create{Dialect: "pi"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Info(t.Context(), string(made.ID)); err != nil {
		t.Error(err)
	}
	if _, err := in.Tokens(t.Context()); err == nil {
		t.Error("an in-process caller can list tokens, which requires scope admin")
	}
	if _, err := n.Info(t.Context(), string(made.ID)); err == nil {
		t.Error("the in-process token works over the network")
	}
	n.Stop()
	if _, err := in.Whoami(t.Context()); err == nil {
		t.Error("a stopped node answers")
	}
}
