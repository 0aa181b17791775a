package server_test

import (
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
)

// A part of the node's own process reads and writes without a token or a
// certificate; it does nothing that asks for more, and opens no way in for others.
func TestWhoIsInsideTheProcessNeedsNoToken(t *testing.T) {
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
		t.Error("it sees tokens, which is for admins")
	}
	if _, err := n.Info(t.Context(), string(made.ID)); err == nil {
		t.Error("the token alone is enough for others")
	}
	n.Stop()
	if _, err := in.Whoami(t.Context()); err == nil {
		t.Error("a node that has ended answers")
	}
}
