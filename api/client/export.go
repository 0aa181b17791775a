package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
)

// Export returns the session as its agent's file, byte-identical; with original,
// the file as it was imported. The caller closes the reader.
func (c *Client) Export(ctx context.Context, id string, original bool) (io.ReadCloser, error) {
	q := url.Values{}
	if original {
		q.Set("original", "true")
	}
	r, err := c.fetch(ctx, c.session(id, "/export"), q)
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// ExportPacked returns the session as the log has it: the header, then every
// entry, with their images. That is one file for a session of which the agent
// keeps several. The caller closes the reader.
func (c *Client) ExportPacked(ctx context.Context, id string) (io.ReadCloser, error) {
	r, err := c.fetch(ctx, c.session(id, "/export"), url.Values{"packed": {"true"}})
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// A Place is where an agent looks for a session's file.
type Place struct {
	Dialect string // whose file it is; empty where an older node gave it
	Dir     string // below the agent's root of sessions
	Name    string
	Cursor  core.Cursor
}

// File returns the session as a file with which its agent continues at the head's
// leaf: that line is the last. The caller closes the reader.
func (c *Client) File(ctx context.Context, id, head string) (io.ReadCloser, Place, error) {
	r, err := c.fetch(ctx, c.session(id, "/file"), View{Head: head}.query())
	if err != nil {
		return nil, Place{}, err
	}
	p := Place{Dialect: r.Header.Get(api.HeaderDialect), Dir: r.Header.Get(api.HeaderDir), Name: r.Header.Get(api.HeaderFile)}
	p.Cursor, err = core.ParseCursor(r.Header.Get(api.HeaderCursor))
	if err != nil {
		_ = r.Body.Close()
		return nil, Place{}, err
	}
	return r.Body, p, nil
}

// A Converted is a session as another agent's file.
type Converted struct {
	Place
	Lost []convert.Loss
}

// ExportAs returns the session as a file of another dialect's agent, which
// continues at v. The caller closes the reader.
func (c *Client) ExportAs(ctx context.Context, id, dialect string, v View) (io.ReadCloser, Converted, error) {
	q := v.query()
	q.Set("as", dialect)
	r, err := c.fetch(ctx, c.session(id, "/export"), q)
	if err != nil {
		return nil, Converted{}, err
	}
	out := Converted{Place: Place{Dir: r.Header.Get(api.HeaderDir), Name: r.Header.Get(api.HeaderFile)}}
	out.Cursor, err = core.ParseCursor(r.Header.Get(api.HeaderCursor))
	if err == nil {
		err = json.Unmarshal([]byte(r.Header.Get(api.HeaderLost)), &out.Lost)
	}
	if err != nil {
		_ = r.Body.Close()
		return nil, Converted{}, fmt.Errorf("export of session %s as %s: the answer is not what this program expects: %w", id, dialect, err)
	}
	return r.Body, out, nil
}
