package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/engine"
)

// A share link is a token with scope access.Share. It may make the calls below
// /v1/shared only. They name no session and no head: the token does.

// A shareError says why a share link shows nothing. Its problem document suggests no other
// call, because the visitor can make none.
type shareError struct {
	why string
	err error
}

func (e *shareError) Error() string { return e.why + ": " + e.err.Error() }

func (e *shareError) Unwrap() error { return e.err }

// errShareGone does not reveal who removed the session and why.
var errShareGone = &shareError{"the session of this share link was removed", core.ErrNotFound}

// checkShared returns errShareGone if st was removed.
func checkShared(st *core.State) error {
	if st.Deleted != nil || st.Erased != nil {
		return errShareGone
	}
	return nil
}

// sharedSession returns the session of the caller's share link.
func (s *Server) sharedSession(r *http.Request) (*engine.Session, access.Grant, error) {
	grant := callerOf(r.Context()).Grant
	if grant.Scope != access.Share {
		return nil, grant, &shareError{"this is not a share link", core.ErrNotFound}
	}
	r.SetPathValue("id", grant.Prefix)
	sess, err := s.session(r)
	if errors.Is(err, core.ErrDeleted) {
		return nil, grant, errShareGone
	}
	return sess, grant, err
}

// viewShared calls f with the session of the caller's share link and the entries that
// it shows.
func (s *Server) viewShared(w http.ResponseWriter, r *http.Request, f func(st *core.State, path list) error) error {
	sess, grant, err := s.sharedSession(r)
	if err != nil {
		return err
	}
	return sess.View(func(st *core.State) error {
		if err := checkShared(st); err != nil {
			return err
		}
		leaf := st.Leaf(core.MainHead)
		if grant.Until != "" {
			leaf = core.LeafAt(grant.Until)
		}
		path, err := s.paths.of(st, leaf)
		if err != nil {
			return err
		}
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		return f(st, path)
	})
}

// sharedInfo answers with what the caller's share link shows.
func (s *Server) sharedInfo(w http.ResponseWriter, r *http.Request) error {
	who := callerOf(r.Context())
	out := api.Shared{ID: who.id, Session: core.SessionID(who.Prefix), Until: who.Until}
	err := s.viewShared(w, r, func(st *core.State, path list) error {
		out.Dialect, out.CWD, out.Summary = st.Dialect.Name(), st.Header.CWD, st.Dialect.Summary(st.Header, path.slice(0, path.len()))
		return nil
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

// sharedEntries answers with the entries of the caller's share link, up to ?leaf=.
func (s *Server) sharedEntries(w http.ResponseWriter, r *http.Request) error {
	var es []core.Entry
	err := s.viewShared(w, r, func(_ *core.State, path list) (err error) {
		if leaf := r.URL.Query().Get("leaf"); leaf != "" {
			all := path.slice(0, path.len())
			at := slices.IndexFunc(all, func(e core.Entry) bool { return e.ID == leaf })
			if at < 0 {
				return fmt.Errorf("the share link shows no entry %.64q: %w", leaf, core.ErrNotFound)
			}
			path = listOf(all[:at+1])
		}
		es, err = windowOf(w, r, path)
		return err
	})
	if err != nil {
		return err
	}
	if r.URL.Query().Get("images") == "false" {
		return s.storedLines(w, r, es)
	}
	return s.lines(w, r, es)
}

// sharedEvents tells when what the caller's share link shows may have changed, as
// events without content.
func (s *Server) sharedEvents(w http.ResponseWriter, r *http.Request) error {
	sess, grant, err := s.sharedSession(r)
	if err == nil {
		err = sess.View(checkShared)
	}
	if err != nil {
		return err
	}
	return s.follow(w, r, sess, func(_ context.Context, out *eventWriter, rec *storage.Lazy) error {
		switch rec.Kind {
		case core.KindAppend, core.KindHead:
			if grant.Until != "" || rec.Head != core.MainHead {
				return nil
			}
		case core.KindAmend, core.KindRedact, core.KindErase, core.KindDelete:
		default:
			return nil
		}
		ev := api.Event{Seq: rec.Seq, Cursor: core.CursorOf(rec.Seq, rec.Chain), Kind: rec.Kind, Time: rec.Time}
		if out.event(ev.Cursor.String(), ev, func(func(...string) error) error { return nil }) != nil {
			return errAborted
		}
		return nil
	})
}

// shares lists the share links of the sessions that the caller may use.
func (s *Server) shares(w http.ResponseWriter, r *http.Request) error {
	session := core.SessionID(r.URL.Query().Get("session"))
	who := callerOf(r.Context())
	if session != "" {
		if err := who.mayUse(session); err != nil {
			return err
		}
	}
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	list, err := s.cfg.Tokens.List(r.Context())
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(t access.Token) bool {
		return t.Scope != access.Share || !who.Reaches(t.Prefix) || session != "" && t.Prefix != string(session)
	})
	return answer(w, http.StatusOK, api.ShareList{Shares: list})
}

// share creates a share link of a session.
func (s *Server) share(w http.ResponseWriter, r *http.Request) error {
	var q api.ShareRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.By, q.Host, q.Why); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	err = sess.View(func(st *core.State) error {
		if st.Deleted != nil || st.Erased != nil {
			return fmt.Errorf("session %s was removed: %w", st.ID, core.ErrDeleted)
		}
		if _, there := st.Entry(q.Until); q.Until != "" && !there {
			return fmt.Errorf("session %s has no entry %.64q: %w", st.ID, q.Until, core.ErrNotFound)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var made access.Issued
	err = s.audited(r.Context(), act{"share", sess.ID(), q.Notice}, func(ctx context.Context) (_ string, err error) {
		if s.requiresNoToken() {
			return "", fmt.Errorf("this node requires no token, so any caller reads every session; give the node a token first: %w", core.ErrInvalid)
		}
		made, err = s.cfg.Tokens.Create(ctx, access.Token{
			By: q.By, Expires: q.Expires, Grant: access.Grant{Scope: access.Share, Prefix: string(sess.ID()), Until: q.Until},
		})
		return tokenText(made.Token), err
	})
	if err != nil {
		return err
	}
	return answerSecret(w, http.StatusCreated, made)
}

// unshare revokes a share link of a session.
func (s *Server) unshare(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Tokens == nil {
		return errNoTokens
	}
	session, id := r.PathValue("id"), r.PathValue("token")
	return s.revoke(w, r, act{name: "unshare", session: core.SessionID(session)}, func(ctx context.Context) error {
		list, err := s.cfg.Tokens.List(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(t access.Token) bool { return t.ID == id && t.Scope == access.Share && t.Prefix == session }) {
			return fmt.Errorf("session %.140q has no share link %.32q: %w", session, id, core.ErrNotFound)
		}
		return nil
	})
}
