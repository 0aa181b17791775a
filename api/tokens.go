package api

import (
	"time"

	"github.com/sesslog/sesslog/api/access"
)

// TokenRequest creates a token.
type TokenRequest struct {
	Name    string        `json:"name"`
	Scope   access.Scope  `json:"scope"`            // "read", "write" or "admin"
	Prefix  string        `json:"prefix,omitempty"` // of the ids of sessions; empty: all of the log
	Expires time.Time     `json:"expires,omitzero"` // zero: never
	Limits  access.Limits `json:"limits,omitzero"`
	Notice
}

// RotateRequest gives a token a new secret.
type RotateRequest struct {
	Keep string `json:"keep,omitempty"` // how long the former secret stays good, such as "1h"; empty: not at all
	Notice
}

// TokenList is an answer of GET /v1/tokens, oldest first.
type TokenList struct {
	Tokens []access.Token `json:"tokens"`
}

// Whoami is an answer of GET /v1/whoami: the caller's rights.
type Whoami struct {
	Log   string `json:"log"`
	Node  string `json:"node"`
	Token string `json:"token,omitempty"` // as the audit records call it; absent where the node asks for none
	access.Grant
}
