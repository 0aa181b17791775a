package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
)

// A Converted is a session as another agent's file.
type Converted struct {
	Place
	Lost []convert.Loss
}

// ExportAs returns the session as a file of the agent of another dialect, which
// goes on where v says. The caller closes the reader.
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
