package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/session"
)

// Sessions of OpenRath as values: they are stored in the log and loaded from it.
func init() {
	for verb, f := range map[string]function{
		"rath-create": makes(func(_ *manager, c call) (openrath.Session, error) {
			return openrath.Create(c.options["id"], c.arg(0), c.arg(1))
		}),
		"rath-user": makes(func(_ *manager, c call) (openrath.Session, error) {
			return openrath.CreateUserSession(c.options["id"], c.arg(0)), nil
		}),
		"rath-system": makes(func(_ *manager, c call) (openrath.Session, error) {
			return openrath.CreateSystemSession(c.options["id"], c.arg(0)), nil
		}),
		"rath-message": makes(func(_ *manager, c call) (openrath.Session, error) {
			return openrath.FromUserMessage(c.options["id"], c.arg(0)), nil
		}),
		"rath-prompt": makes(func(_ *manager, c call) (openrath.Session, error) {
			return openrath.FromAgentPrompt(c.options["id"], c.arg(0)), nil
		}),
		"rath-fork": makes(func(m *manager, c call) (openrath.Session, error) {
			l, err := rathLoad(m, c.arg(0))
			return l.Fork(c.options["id"]), err
		}),
		"rath-detach": makes(func(m *manager, c call) (openrath.Session, error) {
			l, err := rathLoad(m, c.arg(0))
			return l.Detach(c.options["id"]), err
		}),
		"rath-extend": func(m *manager, c call) (string, error) {
			l, err := rathLoad(m, c.arg(0))
			if err != nil {
				return "", err
			}
			row := openrath.NewTable(openrath.UserText(c.arg(1))).At(0)
			_, err = m.log.Append(m.ctx, core.SessionID(l.ID), session.Writing{Head: core.MainHead}, [][]byte{row.Line(l.Rows.Len())})
			return fmt.Sprintf("%s %s", row.Kind(), row.Payload()), err
		},
		"rath-close": func(m *manager, c call) (string, error) {
			l, err := rathLoad(m, c.arg(0))
			if err != nil {
				return "", err
			}
			usage := &openrath.Usage{Prompt: number(c.arg(1)), Completion: number(c.arg(2)), Total: number(c.arg(1)) + number(c.arg(2))}
			line := openrath.NewTrailer(time.Now().UTC().Format(time.RFC3339), l.Rows.Len(), usage)
			_, err = m.log.Append(m.ctx, core.SessionID(l.ID), session.Writing{Head: core.MainHead}, [][]byte{line})
			return "closed", err
		},
		"rath-load": func(m *manager, c call) (string, error) { return rathText(rathLoad(m, c.arg(0))) },
		"rath-resume": func(m *manager, c call) (string, error) {
			l, err := rathLoad(m, c.arg(0))
			if err != nil {
				return "", err
			}
			user, agent := l.Resume(c.options["user"], c.options["agent"], nil)
			return user.ID + " " + agent.ID, errors.Join(rathStore(m, user), rathStore(m, agent))
		},
		"rath-file": func(_ *manager, c call) (string, error) {
			final, err := os.ReadFile(c.arg(0))
			partial, err2 := os.ReadFile(c.arg(0) + ".__partial__")
			if err = errors.Join(err, err2); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			return rathText(rathDialect().LoadEither(c.arg(0), final, partial))
		},
		"rath-list": func(_ *manager, c call) (string, error) {
			var files []openrath.NamedFile
			for _, path := range c.args {
				b, err := os.ReadFile(path)
				if err != nil {
					return "", err
				}
				files = append(files, openrath.NamedFile{Path: path, Data: b})
			}
			metas, skipped := rathDialect().List(files)
			var out []string
			for _, meta := range metas {
				out = append(out, fmt.Sprintf("%s chunks=%d closed=%v", meta.Path, meta.Chunks, meta.Closed))
			}
			return fmt.Sprintf("%s; expired %d; skipped %v", strings.Join(out, ", "), len(openrath.Expired(metas, time.Now(), 24*time.Hour)), skipped), nil
		},
	} {
		calls[verb] = f
	}
}

// rathDialect reads also files of version 0, whose header lacks the version.
func rathDialect() openrath.Dialect {
	upgrade := func(record json.RawMessage) (json.RawMessage, error) {
		return append([]byte(`{"schema_version": 1, `), record[1:]...), nil
	}
	same := func(record json.RawMessage) (json.RawMessage, error) { return record, nil }
	var none *openrath.Migrations
	m, err := none.WithHeader(0, upgrade)
	if err == nil {
		m, err = m.WithChunk(0, same)
	}
	if err != nil {
		panic(err)
	}
	return openrath.Dialect{Migrations: m}
}

// makes is a call that makes a session and stores it.
func makes(f func(*manager, call) (openrath.Session, error)) function {
	return func(m *manager, c call) (string, error) {
		s, err := f(m, c)
		if err != nil {
			return "", err
		}
		return s.ID, rathStore(m, s)
	}
}

func rathStore(m *manager, s openrath.Session) error {
	s.Created = time.Now().UTC().Format(time.RFC3339)
	var lines [][]byte
	for i, row := range s.Rows.All() {
		lines = append(lines, row.Line(i))
	}
	_, err := m.log.Create(m.ctx, session.New{ID: core.SessionID(s.ID), Dialect: "openrath", Header: s.Header(), Lines: lines})
	return err
}

func rathLoad(m *manager, id string) (openrath.Loaded, error) {
	l, err := m.log.Load(m.ctx, core.SessionID(id))
	if err != nil {
		return openrath.Loaded{}, err
	}
	d := openrath.Dialect{}
	h, err := d.Header(l.Header)
	if err != nil {
		return openrath.Loaded{}, err
	}
	es := make([]core.Entry, len(l.Lines))
	for i, line := range l.Lines {
		if es[i], err = d.Entry(line); err != nil {
			return openrath.Loaded{}, err
		}
	}
	return openrath.FromEntries(h, es)
}

func rathText(l openrath.Loaded, err error) (string, error) {
	if err != nil {
		return "", err
	}
	usage := "none"
	if l.Usage != nil {
		usage = fmt.Sprint(l.Usage.Total)
	}
	return fmt.Sprintf("kind=%s operator=%s parents=%v extras=%d rows=%s closed=%v usage=%s",
		l.Kind, l.Operator, l.Parents, len(l.Extras), l.Rows.Messages(), l.Closed, usage), nil
}
