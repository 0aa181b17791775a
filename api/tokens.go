package api

import (
	"time"

	"github.com/sesslog/sesslog/api/access"
)

// Token is what the log knows of a token: never its secret.
type Token = access.Token

// MadeToken is a token with its secret, as its maker sees it, once.
type MadeToken = access.Issued

// TokenLimits bound what the bearer of a token may have of one node.
type TokenLimits = access.Limits

// TokenRequest asks for a new token.
type TokenRequest struct {
	Name    string       `json:"name"`
	Scope   access.Scope `json:"scope"`            // "read", "write" or "admin"
	Prefix  string       `json:"prefix,omitempty"` // of the ids of sessions; empty: all of the log
	Expires time.Time    `json:"expires,omitzero"` // zero: never
	Limits  TokenLimits  `json:"limits,omitzero"`
	Notice
}

// RotateRequest asks for a new secret for a token.
type RotateRequest struct {
	Keep string `json:"keep,omitempty"` // how long the former secret stays good, such as "1h"; empty: not at all
	Notice
}

// TokenList is an answer of GET /v1/tokens, the oldest first.
type TokenList struct {
	Tokens []Token `json:"tokens"`
}

// Whoami is an answer of GET /v1/whoami: what the caller may do here.
type Whoami struct {
	Log   string `json:"log"`
	Node  string `json:"node"`
	Token string `json:"token,omitempty"` // as the audit records call it; absent where the node asks for none
	access.Grant
}
