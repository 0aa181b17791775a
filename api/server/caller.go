package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/access/tokenstore"
	"github.com/sesslog/sesslog/core"
)

// A caller is who a request is from, and what they may do.
type caller struct {
	access.Grant
	// name tells it from others, for people; empty where nobody was asked.
	name string
	id   string // of its token of the log's; empty where it has none
}

// anybody is who asks a node that asks nobody for a token.
var unauthenticated = caller{Grant: access.Grant{Scope: access.Admin}}

// requiresNoToken reports whether nobody is asked who they are.
func (s *Server) requiresNoToken() bool { return s.cfg.Token == "" && !s.cfg.Closed }

// authenticate finds out who a request is from. Whoever it is not told of hears
// no more than that.
func (s *Server) authenticate(r *http.Request) (caller, error) {
	if isInproc(r.Context()) {
		return inprocCaller, nil
	}
	if s.requiresNoToken() {
		return unauthenticated, nil
	}
	shown := clientCertificate(r)
	if s.cfg.NeedCertificate && shown == nil {
		return caller{}, fmt.Errorf("this node asks for a client certificate: %w", api.ErrUnauthorized)
	}
	bearer, ok := bearerToken(r)
	if !ok {
		return s.authenticateSubject(shown)
	}
	if s.cfg.Token != "" && access.Same(bearer, s.cfg.Token) {
		return caller{Grant: access.Grant{Scope: access.Admin}, name: "the node's token"}, nil
	}
	if s.cfg.Tokens == nil {
		return caller{}, fmt.Errorf("this node asks for another token: %w", api.ErrUnauthorized)
	}
	t, err := s.cfg.Tokens.Check(bearer)
	switch {
	case err == nil:
		return caller{Grant: t.Grant, name: t.Name + " (" + t.ID + ")", id: t.ID}, nil
	case errors.Is(err, core.ErrUnavailable):
		return caller{}, err
	case errors.Is(err, tokenstore.ErrExpired): // only who has the secret hears this
		return caller{}, fmt.Errorf("the token has expired: %w", api.ErrUnauthorized)
	}
	return caller{}, fmt.Errorf("this node asks for another token: %w", api.ErrUnauthorized)
}

// A Subject is whose certificate stands for a token: those with the common name
// Name or, where that ends in "*", with one that begins so.
type Subject struct {
	Name string
	access.Grant
}

func (s Subject) matches(name string) bool {
	if begin, ok := strings.CutSuffix(s.Name, "*"); ok {
		return begin != "" && strings.HasPrefix(name, begin)
	}
	return name != "" && name == s.Name
}

// authenticateSubject is who shows a certificate and no token.
func (s *Server) authenticateSubject(shown *x509.Certificate) (caller, error) {
	if shown != nil {
		name := shown.Subject.CommonName
		for _, sub := range s.cfg.Subjects {
			if sub.matches(name) {
				return caller{Grant: sub.Grant, name: "certificate " + clip(name, 128)}, nil
			}
		}
	}
	return caller{}, fmt.Errorf("this node asks for a token: %w", api.ErrUnauthorized)
}

// clientCertificate is what the caller showed and the listener has verified, or nil.
func clientCertificate(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}

// bearerToken is the token that a request carries.
func bearerToken(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// may returns errForbidden unless c may make a call, about the session called id
// where its path names one. Whether there is such a session does not count.
func (c caller) may(rt *route, id string) error {
	if !c.Scope.Includes(rt.scope) {
		return fmt.Errorf("%s is for scope %s, this token has %s: %w", rt.pattern, rt.scope, c.Scope, api.ErrForbidden)
	}
	if c.Prefix == "" {
		return nil
	}
	switch rt.about {
	case inPath:
		return c.mayUse(core.SessionID(id))
	case within, nowhere:
		return nil
	}
	return fmt.Errorf("%s is about the whole log, this token is for sessions %s… alone: %w", rt.pattern, c.Prefix, api.ErrForbidden)
}

// body is how many bytes a request of c may have, where any may have most.
func (c caller) body(most int64) int64 {
	if c.Limits.Body > 0 {
		return min(c.Limits.Body, most)
	}
	return most
}

// reaches returns errForbidden unless c may do something to the session.
func (c caller) mayUse(id core.SessionID) error {
	if c.Reaches(string(id)) {
		return nil
	}
	return fmt.Errorf("session %.140q: this token is for sessions whose id begins with %s: %w", id, c.Prefix, api.ErrForbidden)
}

// makes is reaches for a session to be made. Without an id the node makes one,
// which begins like no other.
func (c caller) mayCreate(id core.SessionID) error {
	if id == "" && c.Prefix != "" {
		return fmt.Errorf("no id is named for the new session, this token is for ids that begin with %s; name one: %w", c.Prefix, api.ErrForbidden)
	}
	return c.mayUse(id)
}

// mayQuery is reaches for a question about one session, or about all where none
// is named.
func (c caller) mayQuery(id core.SessionID) error {
	if id == "" && c.Prefix != "" {
		return fmt.Errorf("no session is named, this token is for sessions %s… alone; name one with session=: %w", c.Prefix, api.ErrForbidden)
	}
	return c.mayUse(id)
}

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerOf is who the request of ctx is from. What the node does by itself is
// from nobody, who may do everything.
func callerOf(ctx context.Context) caller {
	if c, ok := ctx.Value(callerKey{}).(caller); ok {
		return c
	}
	return unauthenticated
}

// whileAuthorized is the request's context, which ends soon after its caller may not
// make the call any more: a stream of events would outlive its token by days.
func (s *Server) whileAuthorized(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	go func() {
		tick := time.NewTicker(recheckInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			who, err := s.authenticate(r)
			if err == nil {
				err = who.may(s.routeOf(r), r.PathValue("id"))
			}
			if errors.Is(err, api.ErrUnauthorized) || errors.Is(err, api.ErrForbidden) {
				cancel()
				return
			}
		}
	}()
	return ctx, cancel
}
