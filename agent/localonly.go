package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/agentfile"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/internal/hint"
)

// LocalOnly is what the file of a session on this host has and the log does not.
type LocalOnly struct {
	// Lines are the entries that the log lacks.
	Lines []LocalLine `json:"lines,omitempty"`
	// Torn are lines that are not entries.
	Torn []core.BadLine `json:"torn,omitempty"`
	// Conflict says why the file cannot be imported; nil if it can.
	Conflict error `json:"-"`
}

// A LocalLine is a line of a file that the log lacks.
type LocalLine struct {
	Line int    `json:"line"` // from 1
	ID   string `json:"id,omitempty"`
	Type string `json:"type,omitempty"`
}

func (l LocalOnly) isEmpty() bool { return len(l.Lines) == 0 && len(l.Torn) == 0 && l.Conflict == nil }

// keepsAside reports whether the file stays under another name.
func (l *LocalOnly) keepsAside(force bool) bool {
	return l != nil && (force || len(l.Torn) > 0)
}

// refusal returns why the file at path may not be replaced without force, or nil.
func (l LocalOnly) refusal(path string) error {
	if l.Conflict == nil {
		return nil
	}
	return hint.With(fmt.Errorf("%s already exists: %w%w", path, l.Conflict, hint.Silent(fs.ErrExist)), asideHint, path)
}

const asideHint = "list its entries with: sessctl entries %s, or keep it under another name with: --force"

// Text names the lines for people: "3 lines (12 to 14)".
func (l LocalOnly) Text() string {
	var numbers []string
	for i := 0; i < len(l.Lines); {
		end := i
		for end+1 < len(l.Lines) && l.Lines[end+1].Line == l.Lines[end].Line+1 {
			end++
		}
		if end == i {
			numbers = append(numbers, fmt.Sprint(l.Lines[i].Line))
		} else {
			numbers = append(numbers, fmt.Sprintf("%d to %d", l.Lines[i].Line, l.Lines[end].Line))
		}
		if i = end + 1; len(numbers) == 5 && i < len(l.Lines) {
			numbers = append(numbers, "and more")
			break
		}
	}
	return fmt.Sprintf("%s (%s)", count(len(l.Lines), "line", "lines"), strings.Join(numbers, ", "))
}

// localOnly compares the file at f.path with f.
func (r *resumer) localOnly(ctx context.Context, f *stagedFile) (LocalOnly, error) {
	if f.old == nil {
		return LocalOnly{}, nil
	}
	old, err := r.host.readFile(f.path)
	if err != nil {
		return LocalOnly{}, err
	}
	fresh, err := r.host.readFile(f.Name())
	if err != nil {
		return LocalOnly{}, err
	}
	if bytes.HasPrefix(fresh, old) && (len(old) == 0 || bytes.HasSuffix(old, []byte("\n"))) {
		return LocalOnly{}, nil
	}
	if f.dialect != nil {
		if have, err := f.dialect.File(fresh); err == nil {
			return r.compare(ctx, f.dialect, have, old)
		}
	}
	if containsLines(fresh, old) {
		return LocalOnly{}, nil
	}
	return LocalOnly{Conflict: fmt.Errorf("it has lines that the log lacks%w", hint.Silent(fs.ErrExist))}, nil
}

// compare compares a file, old, with the session as it is in the log.
func (r *resumer) compare(ctx context.Context, d core.Dialect, have *core.File, old []byte) (LocalOnly, error) {
	file, err := d.File(old)
	if err != nil {
		return LocalOnly{Conflict: err}, nil
	}
	missing, err := agentfile.MissingFrom(d, have, file)
	if (err != nil || len(missing) > 0) && d.Linear() {
		if was, err := r.wasEarlier(ctx, d, have.Header, old); was || err != nil {
			return LocalOnly{}, err
		}
	}
	if err != nil {
		return LocalOnly{Conflict: err}, nil
	}
	l := LocalOnly{Torn: file.Skipped}
	for i, e := range file.Entries {
		if len(missing) > 0 && sameSlice(e.Line, missing[0].Line) {
			l.Lines = append(l.Lines, LocalLine{file.Lines[i], e.ID, e.Type})
			missing = missing[1:]
		}
	}
	if s, ok := d.(optional.Successor); ok && s.Succession(have.Header, have.Entries, file.Entries) == optional.Later {
		return l, nil
	}
	if others, err := agentfile.MissingFrom(d, file, have); d.Linear() && len(l.Lines) > 0 && (err != nil || len(others) > 0) {
		l.Conflict = fmt.Errorf("it has %s that the log lacks, the session continued without them, and sessions of %s have no branches", l.Text(), d.Name())
	}
	return l, nil
}

// wasEarlier reports whether old is the session's file as it was earlier. The
// files of some agents do not contain all earlier content.
func (r *resumer) wasEarlier(ctx context.Context, d core.Dialect, h core.Header, old []byte) (bool, error) {
	body, err := r.node.Entries(ctx, string(r.id), false, client.View{})
	if err != nil {
		return false, err
	}
	defer body.Close()
	var es []core.Entry
	for in := bufio.NewReaderSize(nodeBody{body}, 256<<10); ; {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return false, err
		}
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
			e, err := d.Entry(line)
			if err != nil {
				return false, err
			}
			es = append(es, e)
		}
		if err == io.EOF {
			break
		}
	}
	for n := len(es); n > 0; n-- {
		if bytes.Equal(core.Lines(d.Layout(h, es[:n])), old) {
			return true, nil
		}
	}
	return false, nil
}

// sameSlice reports whether two slices are the same memory.
func sameSlice(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// containsLines reports whether every line of old is also a line of fresh.
func containsLines(fresh, old []byte) bool {
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

// readFile reads a file of at most h.MaxFile bytes.
func (h *Host) readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > h.MaxFile {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are read into memory: %w", name, info.Size(), h.MaxFile, core.ErrTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(f, info.Size()))
	if err != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return data, err
}
