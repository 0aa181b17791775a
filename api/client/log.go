package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

// Log returns the node's log for package session. While a claim made through it
// lasts, this process is announced as present.
func (c *Client) Log() session.Log {
	return remote{c, c.Announcer()}
}

// A remote is a node's log. It turns problems into the typed errors of core.
type remote struct {
	c         *Client
	announcer *session.Announcer
}

func (r remote) Create(ctx context.Context, n session.New) (core.Cursor, error) {
	made, err := r.c.CreateWhole(ctx, n)
	if err == nil && made.ID != n.ID {
		err = fmt.Errorf("the node called session %s %s: %w", n.ID, made.ID, core.ErrInvalid)
	}
	err = typed(n.ID, err)
	if e, ok := errors.AsType[*core.LineError](err); ok {
		e.Line-- // the header is the first
	}
	return made.Cursor, err
}

func (r remote) Load(ctx context.Context, id core.SessionID) (session.Loaded, error) {
	lines, err := r.c.readLines(ctx, r.c.session(string(id), "/state"), nil)
	if err != nil {
		return session.Loaded{}, typed(id, err)
	}
	var st api.State
	if len(lines) < 2 || json.Unmarshal(lines[0], &st) != nil {
		return session.Loaded{}, fmt.Errorf("the state of session %s is not what this program expects: %w", id, core.ErrCorrupt)
	}
	return session.Loaded{Dialect: st.Dialect, Header: lines[1], Lines: lines[2:], Heads: st.Heads, Claims: st.Claims, Cursor: st.Cursor, Covered: st.Covered, Deleted: st.Deleted}, nil
}

func (r remote) Append(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (core.Receipt, error) {
	o := optionsOf(w)
	if w.After != (core.Cursor{}) {
		o.After = w.After.String()
	}
	done, err := r.c.Append(ctx, string(id), joined(lines).Bytes(), o)
	return core.Receipt{Stored: done.Stored, Cursor: done.Cursor}, withLines(typed(id, err), lines)
}

func (r remote) Amend(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (core.Cursor, error) {
	done, err := r.c.AmendAll(ctx, string(id), lines, optionsOf(w))
	return done.Cursor, withLines(typed(id, err), lines)
}

func (r remote) Move(ctx context.Context, id core.SessionID, w session.Writing, leaf core.Leaf) (core.Cursor, error) {
	h := http.Header{}
	headIf(h, api.HeaderWriter, w.Writer)
	if w.After != (core.Cursor{}) {
		h.Set("If-Match", w.After.String())
	}
	info, err := send[api.Info](ctx, r.c, http.MethodPut, r.c.session(string(id), "/heads/"+url.PathEscape(w.Head)), h, api.MoveRequest{Leaf: leaf})
	return info.Log.Cursor, typed(id, err)
}

func (r remote) Claim(ctx context.Context, id core.SessionID, c core.ClaimRequest) (core.Claim, error) {
	mine, err := r.c.Claim(ctx, string(id), core.ClaimRequest(c))
	if err == nil {
		r.announcer.Add(id, mine.Head, mine.Claim)
	}
	return mine.Claim, typed(id, err)
}

func (r remote) Release(ctx context.Context, id core.SessionID, w session.Writing) error {
	if w.Writer == "" {
		return nil
	}
	defer r.announcer.Drop(ctx, w.Writer)
	return typed(id, r.c.Release(ctx, string(id), w.Head, w.Writer))
}

func (r remote) Fork(ctx context.Context, id core.SessionID, f session.Fork) (core.SessionID, error) {
	q := api.ForkRequest{ID: string(f.ID), Whole: f.Whole, Branched: f.Branched, CWD: f.CWD, By: f.By, Key: f.Key, Kind: string(f.Kind)}
	if at, ok := f.At.ID(); ok {
		q.At = at
	} else if f.At.IsNone() {
		q.At = "null"
	}
	made, err := r.c.Fork(ctx, string(id), q)
	return made.ID, typed(id, err)
}

func (r remote) Delete(ctx context.Context, id core.SessionID, n core.Notice) error {
	return typed(id, r.c.Delete(ctx, string(id), api.Notice{By: n.By, Host: n.Host, Why: n.Why}))
}

func (r remote) Recent(ctx context.Context, q session.Query) ([]session.Found, error) {
	list, err := r.c.List(ctx, catalog.Filter{CWD: q.CWD, Dialect: q.Dialect, Text: q.Text, Limit: q.Limit, Sort: catalog.SortChanged})
	if err != nil {
		return nil, typed("", err)
	}
	found := make([]session.Found, len(list.Sessions))
	for i, row := range list.Sessions {
		found[i] = session.Found{ID: row.ID, Dialect: row.Dialect, CWD: row.CWD, Summary: row.Summary}
	}
	return found, nil
}

func (r remote) Follow(ctx context.Context, id core.SessionID, after core.Cursor, wait bool, f func(session.Event) error) error {
	err := r.c.Follow(ctx, string(id), after, wait, func(ev api.Event) error {
		out := session.Event{Cursor: ev.Cursor, Kind: ev.Kind, Head: ev.Head, Body: ev.Body}
		if ev.Kind == core.KindAppend || ev.Kind == core.KindAmend || ev.Kind == core.KindRedact {
			for _, line := range ev.Entries {
				out.Lines = append(out.Lines, line)
			}
		}
		return f(out)
	})
	return typed(id, err)
}

func optionsOf(w session.Writing) AppendOptions {
	return AppendOptions{Head: w.Head, Writer: w.Writer}
}

// typed returns err as the typed error of core that it was at the node.
func typed(id core.SessionID, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	d := e.Detail
	switch {
	case d.Code == "fenced":
		return &core.FencedError{Session: id, Head: d.Head, Holder: d.Holder, RejectedAppend: core.RejectedAppend{Since: d.Since, More: d.More}}
	case d.Line > 0:
		return &core.LineError{Line: d.Line, ID: d.Entry, Err: err}
	case d.Code == "conflict" && d.Cursor != nil:
		return &core.ConflictError{Session: id, Head: d.Head, Have: *d.Cursor, RejectedAppend: core.RejectedAppend{Since: d.Since, More: d.More}}
	}
	return err
}

// withLines adds the lines that were not stored to an error that names another
// writer.
func withLines(err error, lines [][]byte) error {
	if e, ok := errors.AsType[*core.FencedError](err); ok {
		e.Lines = lines
	}
	if e, ok := errors.AsType[*core.ConflictError](err); ok {
		e.Lines = lines
	}
	return err
}

// readLines reads an answer of lines.
func (c *Client) readLines(ctx context.Context, path string, q url.Values) ([][]byte, error) {
	r, err := c.fetch(ctx, path, q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("GET %s: the response ended early: %w: %w", path, err, core.ErrUnavailable)
	}
	lines := bytes.Split(b, []byte("\n"))
	return lines[:len(lines)-1], nil // each ends with a newline
}

func joined(lines [][]byte) *bytes.Buffer {
	var b bytes.Buffer
	for _, line := range lines {
		b.Write(line)
		b.WriteByte('\n')
	}
	return &b
}
