package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/session/catalog"
)

const (
	// pageSize is how many rows, hits or entries a tool returns by default, and
	// maxPage at most.
	pageSize, maxPage = 20, 200
	// maxContext is how many bytes of a context session_context returns by default.
	maxContext = 1 << 18
	// maxAnswer is how many bytes of a context or of a resource are returned at most.
	maxAnswer = 4 << 20
)

type tools struct{ log Log }

type listIn struct {
	Text      string `json:"text,omitempty" jsonschema:"part of the name or of the first prompt"`
	Directory string `json:"directory,omitempty" jsonschema:"sessions of agents that worked in this directory or below it"`
	Agent     string `json:"agent,omitempty" jsonschema:"sessions of this agent, such as claude, codex, opencode or pi"`
	Since     string `json:"since,omitempty" jsonschema:"changed at or after this time, RFC 3339"`
	Limit     int    `json:"limit,omitempty" jsonschema:"at most this many; default 20, at most 200"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next of the previous page"`
}

type listOut struct {
	Sessions []sessionRow `json:"sessions"`
	Next     string       `json:"next,omitempty" jsonschema:"cursor of the next page, if there is one"`
}

type sessionRow struct {
	ID        string  `json:"id"`
	Agent     string  `json:"agent"`
	Directory string  `json:"directory,omitempty"`
	Name      string  `json:"name,omitempty"`
	Prompt    string  `json:"prompt,omitempty" jsonschema:"the beginning of the first prompt"`
	Modified  string  `json:"modified,omitempty"`
	Entries   int     `json:"entries"`
	Cost      float64 `json:"cost,omitempty" jsonschema:"in the currency of the provider"`
}

func (t tools) list(ctx context.Context, _ *mcp.CallToolRequest, in listIn) (*mcp.CallToolResult, listOut, error) {
	f := catalog.Filter{
		Text: in.Text, CWD: in.Directory, Below: in.Directory != "", Dialect: in.Agent,
		After: in.Cursor, Limit: page(in.Limit),
	}
	if in.Since != "" {
		at, err := time.Parse(time.RFC3339, in.Since)
		if err != nil {
			return nil, listOut{}, fmt.Errorf("since %.40q is not a time such as 2026-01-05T09:00:00Z", in.Since)
		}
		f.Modified.From = &at
	}
	l, err := t.log.List(ctx, f)
	out := listOut{Sessions: []sessionRow{}, Next: l.Next}
	for _, r := range l.Sessions {
		out.Sessions = append(out.Sessions, sessionRow{
			ID: string(r.ID), Agent: r.Dialect, Directory: r.CWD, Name: r.Name, Prompt: clip(r.First, 200),
			Modified: r.Modified, Entries: r.Entries, Cost: r.Usage.Cost,
		})
	}
	return nil, out, err
}

type searchIn struct {
	Query     string `json:"query" jsonschema:"words to search for"`
	Session   string `json:"session,omitempty" jsonschema:"search only this session"`
	Directory string `json:"directory,omitempty" jsonschema:"search sessions of this directory and below it"`
	Agent     string `json:"agent,omitempty" jsonschema:"search sessions of this agent"`
	Limit     int    `json:"limit,omitempty" jsonschema:"at most this many hits; default 20, at most 200"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next of the previous page"`
}

type searchOut struct {
	Hits []hit  `json:"hits"`
	Next string `json:"next,omitempty" jsonschema:"cursor of the next page, if there is one"`
}

type hit struct {
	Session   string `json:"session"`
	Entry     string `json:"entry,omitempty"`
	Who       string `json:"who" jsonschema:"user, assistant, tool, system, summary, note, label or name"`
	Time      string `json:"time,omitempty"`
	Text      string `json:"text" jsonschema:"the text around the first match"`
	Name      string `json:"name,omitempty" jsonschema:"the session's name"`
	Directory string `json:"directory,omitempty"`
	Agent     string `json:"agent"`
}

func (t tools) search(ctx context.Context, _ *mcp.CallToolRequest, in searchIn) (*mcp.CallToolResult, searchOut, error) {
	q := catalog.SearchQuery{
		Text: in.Query, Before: in.Cursor, Limit: page(in.Limit),
		Sessions: catalog.Filter{Dialect: in.Agent, CWD: in.Directory, Below: in.Directory != ""},
	}
	if in.Session != "" {
		row, err := t.find(ctx, in.Session)
		if err != nil {
			return nil, searchOut{}, err
		}
		q.Session = row.ID
	}
	p, err := t.log.Search(ctx, q)
	out := searchOut{Hits: []hit{}, Next: p.Next}
	for _, h := range p.Hits {
		out.Hits = append(out.Hits, hit{
			Session: string(h.Session), Entry: h.Entry, Who: h.Kind, Time: h.Time, Text: h.Snippet,
			Name: h.Name, Directory: h.CWD, Agent: h.Dialect,
		})
	}
	return nil, out, err
}

type readIn struct {
	Session string `json:"session" jsonschema:"the session's id, or a unique beginning of it"`
	From    *int   `json:"from,omitempty" jsonschema:"number of the first entry, from 0; negative: counted from the end. Default: the last ones"`
	Limit   int    `json:"limit,omitempty" jsonschema:"at most this many entries; default 20, at most 200"`
	Head    string `json:"head,omitempty" jsonschema:"a branch; default main"`
}

type readOut struct {
	Entries []entryText `json:"entries"`
	Total   int         `json:"total" jsonschema:"how many entries the branch has"`
}

type entryText struct {
	Number int    `json:"number"`
	ID     string `json:"id,omitempty"`
	Time   string `json:"time,omitempty"`
	Text   string `json:"text"`
}

func (t tools) read(ctx context.Context, _ *mcp.CallToolRequest, in readIn) (*mcp.CallToolResult, readOut, error) {
	limit := page(in.Limit)
	row, err := t.find(ctx, in.Session)
	if err != nil {
		return nil, readOut{}, err
	}
	d, err := dialect.Named(row.Dialect)
	if err != nil {
		return nil, readOut{}, err
	}
	from := -limit
	if in.From != nil {
		from = *in.From
	}
	out := readOut{Entries: []entryText{}}
	w, err := t.log.ReadWindow(ctx, string(row.ID), client.View{Head: in.Head}, from, limit, func(line []byte) error {
		e, err := d.Entry(line)
		if err != nil {
			return err
		}
		out.Entries = append(out.Entries, entryText{ID: e.ID, Time: e.Time, Text: textOf(d, e)})
		return nil
	})
	if err != nil {
		return nil, readOut{}, err
	}
	out.Total = w.Total
	for i := range out.Entries {
		out.Entries[i].Number = w.From + i
	}
	return nil, out, nil
}

type contextIn struct {
	Session  string `json:"session" jsonschema:"the session's id, or a unique beginning of it"`
	Head     string `json:"head,omitempty" jsonschema:"a branch; default main"`
	MaxBytes int    `json:"maxBytes,omitempty" jsonschema:"refuse a larger context; default 262144, at most 4194304"`
}

func (t tools) context(ctx context.Context, _ *mcp.CallToolRequest, in contextIn) (*mcp.CallToolResult, any, error) {
	row, err := t.find(ctx, in.Session)
	if err != nil {
		return nil, nil, err
	}
	r, err := t.log.OpenContext(ctx, string(row.ID), client.View{Head: in.Head})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	limit := maxContext
	if in.MaxBytes > 0 {
		limit = min(in.MaxBytes, maxAnswer)
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, nil, err
	}
	if b = bytes.TrimSpace(b); len(b) > limit {
		return nil, nil, fmt.Errorf("the context has more than %d bytes: raise maxBytes up to %d, or use read_session", limit, maxAnswer)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}}, nil, nil
}

// resource returns the latest entries of a session.
func (t tools) resource(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, ok := sessionOf(r.Params.URI)
	if !ok {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	var lines bytes.Buffer
	_, err := t.log.ReadWindow(ctx, id, client.View{}, -maxPage, maxPage, func(line []byte) error {
		lines.Write(line)
		lines.WriteByte('\n')
		for lines.Len() > maxAnswer { // keep the latest
			lines.Next(bytes.IndexByte(lines.Bytes(), '\n') + 1)
		}
		return nil
	})
	if errors.Is(err, core.ErrNotFound) {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: r.Params.URI, MIMEType: "application/x-ndjson", Text: strings.ToValidUTF8(lines.String(), "\uFFFD"),
	}}}, nil
}

// find returns the session with an id that begins with id, or that is id.
func (t tools) find(ctx context.Context, id string) (catalog.Row, error) {
	l, err := t.log.List(ctx, catalog.Filter{Prefix: id, Limit: 2})
	switch {
	case err != nil:
		return catalog.Row{}, err
	case id == "" || len(l.Sessions) == 0:
		return catalog.Row{}, fmt.Errorf("no session has an id that begins with %.80q", id)
	}
	if i := slices.IndexFunc(l.Sessions, func(r catalog.Row) bool { return string(r.ID) == id }); i >= 0 {
		return l.Sessions[i], nil
	}
	if len(l.Sessions) > 1 {
		return catalog.Row{}, fmt.Errorf("several sessions have ids that begin with %.80q: give more of it", id)
	}
	return l.Sessions[0], nil
}

func page(limit int) int {
	if limit < 1 {
		return pageSize
	}
	return min(limit, maxPage)
}
