package server_test

import (
	"errors"
	"io"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

func TestReadsHonorSeenAndStrict(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	made, err := n.Create(t.Context(), api.Create{ID: "session-one", CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	done, err := n.Append(t.Context(), "session-one", []byte(`{"type":"message","id":"a","message":{"role":"user","content":"hi"}}`), client.AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	forged := done.Cursor
	forged.Chain[0]++
	ahead := core.Cursor{Seq: done.Cursor.Seq + 1, Chain: forged.Chain}
	reads := map[string]func(*client.Client) error{
		"info": func(c *client.Client) error { _, err := c.Info(t.Context(), "session-one"); return err },
		"tree": func(c *client.Client) error { _, err := c.Tree(t.Context(), "session-one"); return err },
		"context": func(c *client.Client) error {
			_, err := c.Context(t.Context(), "session-one", client.View{})
			return err
		},
		"entries": func(c *client.Client) error {
			return closed(c.Entries(t.Context(), "session-one", false, client.View{}))
		},
		"export": func(c *client.Client) error { return closed(c.Export(t.Context(), "session-one", false)) },
		"file": func(c *client.Client) error {
			r, _, err := c.File(t.Context(), "session-one", "")
			return closed(r, err)
		},
	}
	for name, read := range reads {
		for _, d := range []api.ReadOptions{{Strict: true}, {Seen: made.Cursor}, {Seen: done.Cursor}, {Seen: done.Cursor, Strict: true}} {
			if err := read(n.WithReadOptions(d)); err != nil {
				t.Errorf("%s, %+v: %v", name, d, err)
			}
		}
		for _, c := range []core.Cursor{forged, ahead} {
			if err := read(n.WithReadOptions(api.ReadOptions{Seen: c})); !errors.Is(err, core.ErrLost) {
				t.Errorf("%s, %s, which the log does not have: %v", name, c, err)
			}
		}
	}
	if _, err := n.WithReadOptions(api.ReadOptions{Strict: true}).Info(t.Context(), "nobody-here"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a missing session: %v", err)
	}
	for _, query := range []string{"seen=x", "seen=1-xyz", "strict=perhaps"} {
		if res, body := n.request(t, "GET", "/v1/sessions/session-one?"+query, ""); res.StatusCode != 400 {
			t.Errorf("%s: %d %s", query, res.StatusCode, body)
		}
	}
	st, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sh := range st.Shards {
		if sh.Messages > 2 || sh.Sessions > 1 {
			t.Errorf("%s counts %d records of %d sessions", sh.Stream, sh.Messages, sh.Sessions)
		}
	}
	list, err := n.List(t.Context(), catalog.Filter{})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].Seq != 2 {
		t.Errorf("a strict listing has %+v, %v", list.Sessions, err)
	}
}

func closed(r io.ReadCloser, err error) error {
	if err == nil {
		err = r.Close()
	}
	return err
}
