package server

import (
	"net/http"

	"github.com/sesslog/sesslog/api"
)

// description answers with the OpenAPI document. It says nothing of this node, so
// it needs no token.
func (s *Server) description(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(api.OpenAPI()) // a client that disconnected is no error of the node
}
