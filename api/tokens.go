package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
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

var errNoTokens = fmt.Errorf("this node keeps no tokens: %w", core.ErrUnavailable)

func (s *Server) whoami(w http.ResponseWriter, r *http.Request) error {
	c := callerOf(r.Context())
	return answer(w, http.StatusOK, Whoami{Log: s.cfg.Log.Name(), Node: s.cfg.Node, Token: c.name, Grant: c.Grant})
}

func (s *Server) tokens(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	list, err := s.cfg.Tokens.List(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, TokenList{list})
}

func (s *Server) createToken(w http.ResponseWriter, r *http.Request) error {
	var q TokenRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.By, q.Host, q.Why); err != nil {
		return err
	}
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	var made MadeToken
	err := s.audited(r.Context(), act{"token-create", "", q.Notice}, func(ctx context.Context) (_ string, err error) {
		made, err = s.cfg.Tokens.Create(ctx, Token{
			Name: q.Name, By: q.By, Expires: q.Expires,
			Grant: access.Grant{Scope: q.Scope, Prefix: q.Prefix, Limits: q.Limits},
		})
		return tokenText(made.Token), err
	})
	if err != nil {
		return err
	}
	return answerSecret(w, http.StatusCreated, made)
}

func (s *Server) rotateToken(w http.ResponseWriter, r *http.Request) error {
	var q RotateRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.By, q.Host, q.Why); err != nil {
		return err
	}
	var keep time.Duration
	if q.Keep != "" {
		var err error
		if keep, err = time.ParseDuration(q.Keep); err != nil {
			return fmt.Errorf("keep %.64q is no time such as 1h: %w", q.Keep, core.ErrInvalid)
		}
	}
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	var made MadeToken
	err := s.audited(r.Context(), act{"token-rotate", "", q.Notice}, func(ctx context.Context) (_ string, err error) {
		made, err = s.cfg.Tokens.Rotate(ctx, r.PathValue("token"), keep)
		return tokenText(made.Token), err
	})
	if err != nil {
		return err
	}
	return answerSecret(w, http.StatusOK, made)
}

func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	n := Notice{By: q.Get("by"), Host: q.Get("host"), Why: q.Get("why")}
	if err := checkText(n.By, n.Host, n.Why); err != nil {
		return err
	}
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	var gone Token
	err := s.audited(r.Context(), act{"token-revoke", "", n}, func(ctx context.Context) (_ string, err error) {
		gone, err = s.cfg.Tokens.Revoke(ctx, r.PathValue("token"))
		return tokenText(gone), err
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, gone)
}

// tokenText names a token in an audit record.
func tokenText(t Token) string {
	text := fmt.Sprintf("token %s (%q), scope %s", t.ID, t.Name, t.Scope)
	if t.Prefix != "" {
		text += ", sessions " + t.Prefix + "…"
	}
	if !t.Expires.IsZero() {
		text += ", until " + t.Expires.UTC().Format(time.RFC3339)
	}
	return text
}

// answerSecret answers with what no cache may keep.
func answerSecret(w http.ResponseWriter, status int, m MadeToken) error {
	w.Header().Set("Cache-Control", "no-store")
	return answer(w, status, m)
}

// Whoami returns what the client's token may do.
func (c *Client) Whoami(ctx context.Context) (Whoami, error) {
	return get[Whoami](ctx, c, "/v1/whoami", nil)
}

// Tokens returns the log's tokens, the oldest first.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	l, err := get[TokenList](ctx, c, "/v1/tokens", nil)
	return l.Tokens, err
}

// CreateToken makes a token. Its secret is in the answer and nowhere else.
func (c *Client) CreateToken(ctx context.Context, q TokenRequest) (MadeToken, error) {
	return send[MadeToken](ctx, c, http.MethodPost, "/v1/tokens", nil, q)
}

// RotateToken gives the token called id a new secret, which is in the answer and
// nowhere else.
func (c *Client) RotateToken(ctx context.Context, id string, q RotateRequest) (MadeToken, error) {
	return send[MadeToken](ctx, c, http.MethodPost, "/v1/tokens/"+url.PathEscape(id)+"/rotate", nil, q)
}

// RevokeToken ends the token called id, for good.
func (c *Client) RevokeToken(ctx context.Context, id string, n Notice) (Token, error) {
	q := url.Values{}
	setIf(q, "by", n.By)
	setIf(q, "host", n.Host)
	setIf(q, "why", n.Why)
	var t Token
	err := c.do(ctx, http.MethodDelete, "/v1/tokens/"+url.PathEscape(id), q, nil, nil, 0, &t)
	return t, err
}
