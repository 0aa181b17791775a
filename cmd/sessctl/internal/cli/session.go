package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/hint"
	"github.com/sesslog/sesslog/session/catalog"
)

// A Source is what a verb reads: a session file, or a session in the log.
type Source struct {
	File *SessionFile // nil for a session in the log
	ID   string
	Node *client.Client
}

// Find returns the source that arg names. If it is a file, Find reads it. Reads of
// a session in the log have the consistency of the flags in Demand.
func (a *App) Find(ctx context.Context, arg string) (Source, error) {
	if err := a.Demand.check(); err != nil {
		return Source{}, err
	}
	src, err := a.findAny(ctx, arg)
	if err != nil {
		return src, err
	}
	return a.Demand.on(src)
}

func (a *App) findAny(ctx context.Context, arg string) (Source, error) {
	if name, ok, err := filePath(arg); err != nil {
		return Source{}, err
	} else if ok {
		f, err := a.readFile(ctx, name)
		return Source{File: f}, err
	}
	node, err := a.Client()
	if err != nil {
		return Source{}, err
	}
	id, err := resolve(ctx, node, arg, false)
	return Source{ID: string(id), Node: node}, err
}

// filePath reports whether arg names a file rather than a session in the log.
func filePath(arg string) (name string, ok bool, err error) {
	if arg == "-" {
		return arg, true, nil
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return "", false, isDirectory(arg)
	case err == nil:
		return arg, true, nil
	case LooksLikePath(arg):
		return "", false, FileError(arg, err)
	}
	return "", false, nil
}

func isDirectory(path string) error {
	return Hintf(fmt.Errorf("%s is a directory, not a session file: %w", path, core.ErrInvalid),
		"name the files in it, such as: %s/*.jsonl", strings.TrimSuffix(path, "/"))
}

// FileError returns err with the path, without the name of the system call.
func FileError(path string, err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		err = pe.Err
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no such file: %s%w", path, hint.Silent(err))
	}
	return fmt.Errorf("%s: %w", path, err)
}

// LooksLikePath reports whether arg has the form of a path.
func LooksLikePath(arg string) bool {
	return strings.ContainsRune(arg, '/') || strings.ContainsRune(arg, os.PathSeparator) || strings.HasSuffix(arg, ".jsonl")
}

// InLog returns the session in the log that arg names. A file is an error.
func (a *App) InLog(ctx context.Context, arg string) (*client.Client, core.SessionID, error) {
	return a.InLogOrTrash(ctx, arg, false)
}

// InLogOrTrash is like InLog. With trash it only searches deleted sessions.
func (a *App) InLogOrTrash(ctx context.Context, arg string, trash bool) (*client.Client, core.SessionID, error) {
	if arg == "-" || LooksLikePath(arg) {
		return nil, "", Hintf(
			Usagef("%.128q is a file: this verb requires a session in the log", arg),
			"import it first: sessctl import "+"%s", arg)
	}
	node, err := a.Client()
	if err != nil {
		return nil, "", err
	}
	id, err := resolve(ctx, node, arg, trash)
	return node, id, err
}

// NotInTrash is the error of restoring a session that is not in the trash.
func NotInTrash(id core.SessionID) error {
	return Hintf(fmt.Errorf("session %s is not in the trash%w", id, hint.Silent(core.ErrNotFound)), "list the trash with: sessctl ls --deleted")
}

// maxCandidates is how many sessions the error of an ambiguous prefix names.
const maxCandidates = 5

// resolve returns the id of the session that arg names: the complete id, or an
// unambiguous prefix. With trash it only searches deleted sessions.
//
// The listing can lag. If arg is a valid id that is not listed, it is returned as
// it is, and the request for the session decides.
func resolve(ctx context.Context, node *client.Client, arg string, trash bool) (core.SessionID, error) {
	if arg == "" {
		return "", Usagef("the session id is empty")
	}
	id, found, err := resolveListed(ctx, node, arg, trash)
	if err != nil || found {
		return id, err
	}
	id, found, err = resolveListed(ctx, node, arg, !trash)
	switch {
	case err != nil || !found:
	case string(id) == arg:
		return id, nil // some verbs read what is in the trash
	case trash:
		return "", NotInTrash(id)
	default:
		return "", Hintf(fmt.Errorf("session %s is in the trash%w", id, hint.Silent(core.ErrDeleted)), "restore it with: sessctl rm --undo %s", id)
	}
	if id, err := core.ParseSessionID(arg); err == nil {
		return id, nil
	}
	missing := fmt.Errorf("no session id is or begins with %.128q%w", arg, hint.Silent(core.ErrNotFound))
	if trash {
		return "", Hintf(missing, "list the trash with: sessctl ls --deleted")
	}
	return "", Hintf(missing, "list the sessions with: sessctl ls")
}

func resolveListed(ctx context.Context, node *client.Client, arg string, trash bool) (core.SessionID, bool, error) {
	rows, err := listPrefix(ctx, node, arg, trash)
	if err != nil {
		return "", false, err
	}
	if slices.ContainsFunc(rows, func(r catalog.Row) bool { return string(r.ID) == arg }) {
		return core.SessionID(arg), true, nil
	}
	if id, ok, err := resolveAgentID(ctx, node, arg, trash); err != nil || ok {
		return id, ok, err
	}
	if len(rows) == 0 {
		return "", false, nil
	}
	if id, err := core.ParseSessionID(arg); err == nil && exists(ctx, node, id) {
		return id, true, nil
	}
	if len(rows) > 1 {
		return "", false, ambiguous(arg, rows)
	}
	return rows[0].ID, true, nil
}

// resolveAgentID finds a session by an id of its agent that is not valid in the
// log. There the session has a derived id.
func resolveAgentID(ctx context.Context, node *client.Client, arg string, trash bool) (core.SessionID, bool, error) {
	if _, err := core.ParseSessionID(arg); err == nil {
		return "", false, nil
	}
	for name := range dialect.All() {
		id := core.SessionIDFor(name, arg)
		rows, err := listPrefix(ctx, node, string(id), trash)
		if err != nil {
			return "", false, err
		}
		if len(rows) > 0 {
			return id, true, nil
		}
	}
	return "", false, nil
}

// exists reports whether the log has the session id, listed or not.
func exists(ctx context.Context, node *client.Client, id core.SessionID) bool {
	_, err := node.Info(ctx, string(id))
	return err == nil || errors.Is(err, core.ErrDeleted)
}

// listPrefix lists up to maxCandidates+1 sessions whose id begins with prefix. For
// an invalid prefix it returns none without a request.
func listPrefix(ctx context.Context, node *client.Client, prefix string, trash bool) ([]catalog.Row, error) {
	pad := strings.Repeat("0", max(0, 8-len(prefix))) // ids have 8 characters or more
	if _, err := core.ParseSessionID(prefix + pad); err != nil {
		return nil, nil
	}
	list, err := node.List(ctx, catalog.Filter{Prefix: prefix, Deleted: trash, Limit: maxCandidates + 1})
	return list.Sessions, err
}

func ambiguous(arg string, rows []catalog.Row) error {
	var names []string
	for _, r := range rows[:min(len(rows), maxCandidates)] {
		names = append(names, string(r.ID))
	}
	more := ""
	if len(rows) > maxCandidates {
		more = " and more"
	}
	return Hintf(
		Usagef("%.128q matches several sessions: %s%s", arg, strings.Join(names, ", "), more),
		"use more of the id")
}
