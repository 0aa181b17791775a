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
	"github.com/sesslog/sesslog/api/durablestreams"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// A caller is the sender of a request and its rights.
type caller struct {
	access.Grant
	// name is for audit records and logs; empty if the node requires no token.
	name string
	id   string // of its token in the log; empty if it has none
}

// unauthenticated is the caller on a node that requires no token.
var unauthenticated = caller{Grant: access.Grant{Scope: access.Admin}}

// requiresNoToken reports whether the node lets every caller do everything.
func (s *Server) requiresNoToken() bool { return s.cfg.Token == "" && !s.cfg.Closed }

// authenticate returns the caller of a request. The error does not say whether a
// token exists.
func (s *Server) authenticate(r *http.Request) (caller, error) {
	if isInproc(r.Context()) {
		return inprocCaller, nil
	}
	if s.requiresNoToken() {
		return unauthenticated, nil
	}
	shown := clientCertificate(r)
	if s.cfg.NeedCertificate && shown == nil {
		return caller{}, fmt.Errorf("this node requires a client certificate: %w", api.ErrUnauthorized)
	}
	bearer, ok := access.BearerOf(r.Header.Get("Authorization"))
	if !ok {
		return s.authenticateSubject(shown)
	}
	if s.cfg.Token != "" && access.Same(bearer, s.cfg.Token) {
		return caller{Grant: access.Grant{Scope: access.Admin}, name: "the node's token"}, nil
	}
	if s.cfg.Tokens == nil {
		return caller{}, fmt.Errorf("this node requires another token: %w", api.ErrUnauthorized)
	}
	t, err := s.cfg.Tokens.Check(bearer)
	switch {
	case err == nil:
		return caller{Grant: t.Grant, name: t.Name + " (" + t.ID + ")", id: t.ID}, nil
	case errors.Is(err, core.ErrUnavailable):
		return caller{}, err
	case s.routeOf(r).scope == access.Share:
		return caller{}, &shareError{"the share link is unknown, was revoked or has expired", api.ErrUnauthorized}
	case errors.Is(err, tokenstore.ErrExpired): // only a caller with the secret learns this
		return caller{}, fmt.Errorf("the token has expired: %w", api.ErrUnauthorized)
	}
	return caller{}, fmt.Errorf("this node requires another token: %w", api.ErrUnauthorized)
}

// A Subject gives rights to client certificates: those with the common name Name
// or, if Name ends in "*", with that prefix.
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

// authenticateSubject returns the caller of a request with a certificate and no
// token.
func (s *Server) authenticateSubject(shown *x509.Certificate) (caller, error) {
	if shown != nil {
		name := shown.Subject.CommonName
		for _, sub := range s.cfg.Subjects {
			if sub.matches(name) {
				return caller{Grant: sub.Grant, name: "certificate " + clip(name, 128)}, nil
			}
		}
	}
	return caller{}, fmt.Errorf("this node requires a token: %w", api.ErrUnauthorized)
}

// clientCertificate returns the client certificate that the listener verified, or
// nil.
func clientCertificate(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}

// may returns api.ErrForbidden unless c may make the call, about session id if
// its path has one. The answer does not depend on whether the session exists.
func (c caller) may(rt *route, id string) error {
	if !c.Scope.Includes(rt.scope) {
		return fmt.Errorf("%s is for scope %s, this token has %s: %w", rt.pattern, rt.scope, c.Scope, api.ErrForbidden)
	}
	if c.Prefix == "" {
		return nil
	}
	switch rt.about {
	case inPath:
		if rt.scope == access.Read {
			return c.mayUse(core.SessionID(id))
		}
		return c.mayWrite(core.SessionID(id))
	case within, nowhere:
		return nil
	}
	return fmt.Errorf("%s is about the whole log, this token is for sessions %s… alone: %w", rt.pattern, c.Prefix, api.ErrForbidden)
}

// body returns how many bytes a request of c may have if the node allows most.
func (c caller) body(most int64) int64 {
	if c.Limits.Body > 0 {
		return min(c.Limits.Body, most)
	}
	return most
}

// mayUse returns api.ErrForbidden unless c may use the session.
func (c caller) mayUse(id core.SessionID) error {
	if c.Reaches(string(id)) {
		return nil
	}
	return fmt.Errorf("session %.140q: this token is for sessions whose id begins with %s: %w", id, c.Prefix, api.ErrForbidden)
}

// mayWrite is mayUse for a call that writes. Only the durable-streams protocol checks the
// right to the streams that the lines of a subscription name, so other calls write such
// lines only for callers that may use all streams.
func (c caller) mayWrite(id core.SessionID) error {
	if err := c.mayUse(id); err != nil {
		return err
	}
	if durablestreams.IsSubscription(id) && !c.Reaches(durablestreams.IDPrefix) {
		return fmt.Errorf("session %.140q is a subscription of durable streams: this token may change it only through %s: %w", id, durablestreams.Prefix, api.ErrForbidden)
	}
	return nil
}

// readable returns which blobs c may read through a session whose lines keep those
// that own reports: a caller for some sessions cannot ask for others.
func (c caller) readable(own func(core.Digest) bool) func(core.Digest) bool {
	if c.Prefix == "" {
		return func(core.Digest) bool { return true }
	}
	return own
}

// mayCreate is mayUse for a new session. Without an id the node generates one,
// which has no prefix.
func (c caller) mayCreate(id core.SessionID) error {
	if id == "" && c.Prefix != "" {
		return fmt.Errorf("no id is named for the new session, this token is for ids that begin with %s; name one: %w", c.Prefix, api.ErrForbidden)
	}
	return c.mayWrite(id)
}

// mayCreateFrom returns api.ErrForbidden unless c may create the session that h describes,
// and use the parents that h names.
func (c caller) mayCreateFrom(dialect string, h core.Header) error {
	if err := c.mayCreate(core.SessionIDFor(dialect, h.ID)); err != nil {
		return err
	}
	return c.mayUseParents(dialect, h)
}

// mayUseParents returns api.ErrForbidden unless c may use the sessions that h names as
// parents.
func (c caller) mayUseParents(dialect string, h core.Header) error {
	if c.Prefix == "" {
		return nil
	}
	for _, p := range lineage.OfHeader(dialect, h).Parents {
		if err := c.mayUse(p.Session); err != nil {
			return fmt.Errorf("a parent: %w", err)
		}
	}
	return nil
}

// mayQuery is mayUse for a query about one session, or about all if id is empty.
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

// callerOf returns the caller of the request of ctx. What the node does on its
// own behalf has every right.
func callerOf(ctx context.Context) caller {
	if c, ok := ctx.Value(callerKey{}).(caller); ok {
		return c
	}
	return unauthenticated
}

// whileAuthorized returns the request's context. It is canceled soon after the
// caller's token expires or is revoked: a stream of events would otherwise
// outlive its token by days.
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
