package agents

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/lineage"
)

// handOff makes a session of another agent of the head of a session, and returns
// its id. It prints what the conversion lost. The id is derived from the session's,
// so a later hand-off adds what is new.
func (a app) handOff(ctx context.Context, node *client.Client, id core.SessionID, head, as string) (core.SessionID, error) {
	body, done, err := node.ExportAs(ctx, string(id), as, client.View{Head: head})
	if err != nil {
		return "", err
	}
	defer body.Close()
	data, err := io.ReadAll(cli.Answer{Reader: body})
	if err != nil {
		return "", err
	}
	for _, l := range done.Lost {
		a.Notef("lost in the format of %s: %d × %s", as, l.Count, l.What)
	}
	importOf := func(data []byte) (core.SessionID, error) {
		made, err := node.Import(ctx, bytes.NewReader(data), int64(len(data)), client.ImportOptions{Dialect: as, By: a.Host().By, Parent: string(id), Kind: string(lineage.Convert)})
		return core.SessionID(made.Session), err
	}
	if as != (opencode.Dialect{}).Name() {
		return importOf(data)
	}
	// opencode writes events after those that it was given, which the log must have.
	file, _, err := dialect.Read(as, data)
	if err != nil {
		return "", err
	}
	to, err := importOf(opencode.AsEvents(file.Header, file.Entries))
	if !errors.Is(err, core.ErrConflict) {
		return to, err
	}
	// opencode continued the conversion, and the session continued, too. A session of
	// opencode has no branches, so what the session is now becomes another one.
	file.Header.ID = string(id) + " at " + done.Cursor.String()
	if to, err = importOf(opencode.AsEvents(file.Header, file.Entries)); err == nil {
		a.Notef("both the session and its conversion continued, so it is converted into another session")
	}
	return to, err
}
