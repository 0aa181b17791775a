package api

import (
	_ "embed"
)

// openAPI describes every call, in OpenAPI 3.1. It is generated from the types,
// their comments and the table in api/server/describe_test.go:
//
//	go test ./api/server -run TestOpenAPIMatchesHandlers -update
//
//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the description of the HTTP interface that a node of this
// version serves at /openapi.json: JSON, OpenAPI 3.1.
func OpenAPI() []byte { return append([]byte(nil), openAPI...) }
