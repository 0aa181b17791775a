package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
)

var errNoTokens = fmt.Errorf("this node keeps no tokens: %w", core.ErrUnavailable)

func (s *Server) whoami(w http.ResponseWriter, r *http.Request) error {
	c := callerOf(r.Context())
	return answer(w, http.StatusOK, api.Whoami{Log: s.cfg.Log.Name(), Node: s.cfg.Node, Token: c.name, Grant: c.Grant})
}

func (s *Server) tokens(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	list, err := s.cfg.Tokens.List(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.TokenList{Tokens: list})
}

func (s *Server) createToken(w http.ResponseWriter, r *http.Request) error {
	var q api.TokenRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.By, q.Host, q.Why); err != nil {
		return err
	}
	if _, err := access.ParseScope(string(q.Scope)); err != nil { // a share link is created for a session
		return err
	}
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	var made access.Issued
	err := s.audited(r.Context(), act{"token-create", "", q.Notice}, func(ctx context.Context) (_ string, err error) {
		made, err = s.cfg.Tokens.Create(ctx, access.Token{
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
	var q api.RotateRequest
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
	var made access.Issued
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
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	return s.revoke(w, r, act{name: "token-revoke"}, func(context.Context) error { return nil })
}

// revoke revokes a token unless check fails, and records it as a, with the notice of the
// request.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request, a act, check func(context.Context) error) error {
	q := r.URL.Query()
	a.notice = api.Notice{By: q.Get("by"), Host: q.Get("host"), Why: q.Get("why")}
	if err := checkText(a.notice.By, a.notice.Host, a.notice.Why); err != nil {
		return err
	}
	var gone access.Token
	err := s.audited(r.Context(), a, func(ctx context.Context) (_ string, err error) {
		if err := check(ctx); err != nil {
			return "", err
		}
		gone, err = s.cfg.Tokens.Revoke(ctx, r.PathValue("token"))
		return tokenText(gone), err
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, gone)
}

// tokenText names a token in an audit record.
func tokenText(t access.Token) string {
	text := fmt.Sprintf("token %s (%q), scope %s", t.ID, t.Name, t.Scope)
	switch {
	case t.Until != "":
		text += ", until entry " + strconv.Quote(t.Until)
	case t.Prefix != "" && t.Scope != access.Share:
		text += ", sessions " + t.Prefix + "…"
	}
	if !t.Expires.IsZero() {
		text += ", until " + t.Expires.UTC().Format(time.RFC3339)
	}
	return text
}

// answerSecret answers with a secret, which no cache may keep.
func answerSecret(w http.ResponseWriter, status int, m access.Issued) error {
	w.Header().Set("Cache-Control", "no-store")
	return answer(w, status, m)
}
