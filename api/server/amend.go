package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/engine"
)

// amend replaces the line of the entry in the path, or those of the entries that the
// lines name: all of them or none.
func (s *Server) amend(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBody(r)
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkLines(body); err != nil {
		return err
	}
	lines, _ := api.EntryLines(body)
	if one := r.PathValue("entry") != ""; len(lines) == 0 || one && len(lines) > 1 {
		return fmt.Errorf("the body has %d lines, it is the new line of the entry: %w", len(lines), core.ErrInvalid)
	}
	after, err := ifMatch(r)
	if err != nil {
		return err
	}
	a := engine.Amend{After: after}
	a.Lines(lines)
	if id := r.PathValue("entry"); id != "" {
		read := a.Change
		a.Change = func(st *core.State) ([]core.Entry, error) {
			es, err := read(st)
			if err == nil && es[0].ID != id {
				err = fmt.Errorf("the line has the id %.64q, an entry keeps its own: %w", es[0].ID, core.ErrInvalid)
			}
			return es, err
		}
	}
	return s.amendWith(w, r, a)
}

// meta replaces a message's metadata of the channel that it came through.
func (s *Server) meta(w http.ResponseWriter, r *http.Request) error {
	var meta json.RawMessage
	if err := readJSON(r, &meta); err != nil {
		return err
	}
	began, given := time.Now(), []core.Entry{{Line: meta}}
	kept, _, err := s.cfg.Sessions.StoreImages(r.Context(), given)
	if err != nil {
		return err
	}
	id := r.PathValue("entry")
	return s.amendWith(w, r, engine.Amend{Given: given, Began: began, Change: func(st *core.State) ([]core.Entry, error) {
		a, err := annotator(st)
		if err != nil {
			return nil, err
		}
		e, ok := st.Entry(id)
		if !ok {
			return nil, fmt.Errorf("session %s has no entry %.64q: %w", st.ID, id, core.ErrNotFound)
		}
		e, err = a.WithMeta(e, kept[0].Line)
		return []core.Entry{e}, err
	}})
}

// react adds a reaction to a message.
func (s *Server) react(w http.ResponseWriter, r *http.Request) error {
	var q api.ReactionRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.Message, q.Emoji); err != nil {
		return err
	}
	if q.Emoji == "" {
		return fmt.Errorf("the reaction is empty: %w", core.ErrInvalid)
	}
	return s.amendWith(w, r, engine.Amend{Change: func(st *core.State) ([]core.Entry, error) {
		a, err := annotator(st)
		if err != nil {
			return nil, err
		}
		e, err := a.WithReaction(st.Entries, q.Message, q.Emoji)
		return []core.Entry{e}, err
	}})
}

func annotator(st *core.State) (optional.Annotator, error) {
	a, ok := st.Dialect.(optional.Annotator)
	if !ok {
		return nil, fmt.Errorf("messages of %s carry no such notes: %w", st.Dialect.Name(), core.ErrInvalid)
	}
	return a, nil
}

func (s *Server) amendWith(w http.ResponseWriter, r *http.Request, a engine.Amend) error {
	writer := r.Header.Get(api.HeaderWriter)
	if err := checkText(writer); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	a.Head, a.Writer = r.Header.Get(api.HeaderHead), writer
	at, err := sess.Amend(r.Context(), a)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.Amended{Cursor: at})
}
