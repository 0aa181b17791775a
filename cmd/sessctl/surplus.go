package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// A surplus is what the file of a session on this host has and the log has not.
type surplus struct {
	// Lines are the entries that the log lacks.
	Lines []lackedLine `json:"lines,omitempty"`
	// Torn are lines that are no entries, which a session has no place for.
	Torn []core.BadLine `json:"torn,omitempty"`
	// contradicts is why the file cannot be brought into the log, nil where it
	// can.
	contradicts error
}

// A lackedLine is a line of a file that the log lacks.
type lackedLine struct {
	Line int    `json:"line"` // from 1
	ID   string `json:"id,omitempty"`
	Type string `json:"type,omitempty"`
}

func (g surplus) none() bool { return len(g.Lines) == 0 && len(g.Torn) == 0 && g.contradicts == nil }

// surplus compares the file that is in the place of f with f.
func (a *app) surplus(ctx context.Context, node *api.Client, id core.SessionID, f *agentFile) (surplus, error) {
	if f.old == nil {
		return surplus{}, nil
	}
	old, err := a.readLimitedFile(f.path)
	if err != nil {
		return surplus{}, err
	}
	fresh, err := a.readLimitedFile(f.Name())
	if err != nil {
		return surplus{}, err
	}
	if bytes.HasPrefix(fresh, old) && (len(old) == 0 || bytes.HasSuffix(old, []byte("\n"))) {
		return surplus{}, nil
	}
	if f.dialect != nil {
		if have, err := f.dialect.File(fresh); err == nil {
			return a.surplusOf(ctx, node, id, f.dialect, have, old)
		}
	}
	if holdsAll(fresh, old) {
		return surplus{}, nil
	}
	return surplus{contradicts: fmt.Errorf("it holds lines that the log does not have%w", silent{fs.ErrExist})}, nil
}

func (a *app) readLimitedFile(name string) ([]byte, error) {
	r, size, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return a.readLimited(name, r, size)
}

// surplusOf compares a file, old, with the session as its agent's file is now.
func (a *app) surplusOf(ctx context.Context, node *api.Client, id core.SessionID, d core.Dialect, have *core.File, old []byte) (surplus, error) {
	file, err := d.File(old)
	if err != nil {
		return surplus{contradicts: err}, nil
	}
	missing, err := core.MissingFrom(d, have, file)
	if (err != nil || len(missing) > 0) && d.Linear() {
		if was, err := wasOnce(ctx, node, id, d, have.Header, old); was || err != nil {
			return surplus{}, err
		}
	}
	if err != nil {
		return surplus{contradicts: err}, nil
	}
	g := surplus{Torn: file.Skipped}
	for i, e := range file.Entries {
		if len(missing) > 0 && sameMemory(e.Line, missing[0].Line) {
			g.Lines = append(g.Lines, lackedLine{file.Lines[i], e.ID, e.Type})
			missing = missing[1:]
		}
	}
	if others, err := core.MissingFrom(d, file, have); d.Linear() && len(g.Lines) > 0 && (err != nil || len(others) > 0) {
		g.contradicts = fmt.Errorf("it has %s that the log lacks, the session went on without them, and sessions of %s have no branches", g.text(), d.Name())
	}
	return g, nil
}

// wasOnce reports whether old is the agent's file of the session as it was once:
// not every agent's file has all that came before in it.
func wasOnce(ctx context.Context, node *api.Client, id core.SessionID, d core.Dialect, h core.Header, old []byte) (bool, error) {
	body, err := node.Entries(ctx, string(id), false, api.View{})
	if err != nil {
		return false, err
	}
	defer body.Close()
	var es []core.Entry
	err = eachLine(body, func(line []byte) error {
		e, err := d.Entry(bytes.Clone(line))
		es = append(es, e)
		return err
	})
	if err != nil {
		return false, err
	}
	for n := len(es); n > 0; n-- {
		if bytes.Equal(core.Lines(d.Layout(h, es[:n])), old) {
			return true, nil
		}
	}
	return false, nil
}

// sameMemory reports whether two lines are the same one, not just alike.
func sameMemory(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// holdsAll reports whether every line of old is a line of fresh too, so that
// replacing the one by the other loses nothing.
func holdsAll(fresh, old []byte) bool {
	lines := map[string]bool{"": true}
	for line := range bytes.Lines(fresh) {
		lines[string(bytes.TrimSuffix(line, []byte("\n")))] = true
	}
	for line := range bytes.Lines(old) {
		if !lines[string(bytes.TrimSuffix(line, []byte("\n")))] {
			return false
		}
	}
	return true
}

// text names the lines for people: "3 lines (12 to 14)".
func (g surplus) text() string {
	var numbers []string
	for i := 0; i < len(g.Lines); {
		end := i
		for end+1 < len(g.Lines) && g.Lines[end+1].Line == g.Lines[end].Line+1 {
			end++
		}
		switch span := end - i; span {
		case 0:
			numbers = append(numbers, fmt.Sprint(g.Lines[i].Line))
		default:
			numbers = append(numbers, fmt.Sprintf("%d to %d", g.Lines[i].Line, g.Lines[end].Line))
		}
		if i = end + 1; len(numbers) == 5 && i < len(g.Lines) {
			numbers = append(numbers, "and more")
			break
		}
	}
	return fmt.Sprintf("%s (%s)", count(len(g.Lines), "line", "lines"), strings.Join(numbers, ", "))
}
