package api

import (
	_ "embed"
	"net/http"
)

// openAPI describes every call, in OpenAPI 3.1. It is made of the handlers'
// types, their comments and the table in describe_test.go:
//
//	go test ./api -run TestTheDescription -update
//
//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the description of the HTTP interface that a node of this
// version serves at /openapi.json: JSON, OpenAPI 3.1.
func OpenAPI() []byte { return append([]byte(nil), openAPI...) }

// description answers with the description. It says nothing of this node, so
// nobody needs a token for it.
func (s *Server) description(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // a caller that has gone is no error of ours
}
