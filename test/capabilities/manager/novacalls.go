package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	dialect "github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/prune"
	"github.com/sesslog/sesslog/session/nova"
)

func init() {
	for verb, f := range map[string]function{
		"nova": func(m *manager, c call) (string, error) {
			cfg := nova.Config{Log: m.log, By: "manager", Logger: debugLog, Prune: dialect.Limits{
				Decisions: int(number(c.options["decisions"])), Tokens: number(c.options["tokens"]),
			}}
			if c.options["keep"]+c.options["age"] != "" {
				age, err := time.ParseDuration(c.options["age"])
				if err != nil {
					return "", err
				}
				cfg.CleanupEvery = time.Millisecond
				cfg.Cleanup = &prune.Limits{Keep: int(number(c.options["keep"])), MaxAge: age}
			}
			m.nova = nova.New(cfg)
			return "ok", nil
		},
		"nova-create": func(m *manager, c call) (string, error) {
			return m.nova.GetOrCreate(m.ctx, nil, novaOptions(c))
		},
		"nova-open": func(m *manager, c call) (string, error) {
			id := c.arg(0)
			return m.nova.GetOrCreate(m.ctx, &id, novaOptions(c))
		},
		"nova-task": func(m *manager, c call) (string, error) {
			var made *dialect.Decision
			if len(c.args) > 1 {
				made = &dialect.Decision{Decision: c.arg(1), Rationale: c.arg(2)}
			}
			t, err := m.nova.RunTask(m.ctx, c.arg(0), made)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("session=%s resume=%s model=%s turns=%d context=%q",
				t.SessionID, t.ResumeFromSession, t.Model, t.State.TurnCount, t.Context), nil
		},
		"nova-fork":    func(m *manager, c call) (string, error) { return m.nova.Fork(m.ctx, c.arg(0)) },
		"nova-cleanup": did(func(m *manager, c call) error { return m.nova.Cleanup(m.ctx, c.arg(0)) }),
		"nova-state":   func(m *manager, c call) (string, error) { return dict(m.nova.State(m.ctx, c.arg(0))) },
		"nova-by-tag":  func(m *manager, c call) (string, error) { return novaIDs(m.nova.ByTag(m.ctx, c.arg(0))) },
		"nova-prune":   func(m *manager, c call) (string, error) { return yes(m.nova.PruneIfNeeded(m.ctx, c.arg(0))) },
		"nova-update":  func(m *manager, c call) (string, error) { return dict(m.nova.Update(m.ctx, c.arg(0), raw(c.arg(1)))) },
		"nova-tokens": func(m *manager, c call) (string, error) {
			return dict(m.nova.AddTokens(m.ctx, c.arg(0), number(c.arg(1))))
		},
		"nova-artifact": func(m *manager, c call) (string, error) {
			return dict(m.nova.AddArtifact(m.ctx, c.arg(0), c.arg(1), c.arg(2)))
		},
		"nova-decision": func(m *manager, c call) (string, error) {
			return dict(m.nova.AddDecision(m.ctx, c.arg(0), dialect.Decision{Decision: c.arg(1), Rationale: c.arg(2), Timestamp: c.arg(3)}))
		},
		"nova-model": func(m *manager, c call) (string, error) {
			s, err := m.nova.State(m.ctx, c.arg(0))
			return fmt.Sprint(s.Model, s.Tags), err
		},
		"nova-untagged": func(m *manager, c call) (string, error) {
			s, err := m.nova.State(m.ctx, c.arg(0))
			return string(s.DictWithoutTags()), err
		},
		"nova-run":   novaRun,
		"nova-held":  func(m *manager, _ call) (string, error) { return novaIDs(m.nova.Held(), nil) },
		"nova-crowd": novaCrowd,
		"nova-cleanup-old": func(m *manager, _ call) (string, error) {
			out := ""
			for _, p := range m.nova.CleanupOld(m.ctx) {
				out += string(p.ID) + "\n"
			}
			return out, nil
		},
	} {
		calls[verb] = f
	}
}

// debugLog writes all that the manager of Nova logs to standard error.
var debugLog = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))

// novaCrowd runs a task in each of several goroutines at the same time, by turns
// in two programs.
func novaCrowd(m *manager, c call) (string, error) {
	var all errgroup.Group
	programs := []*nova.Sessions{m.nova, nova.New(nova.Config{Log: m.log, By: "another", Logger: debugLog})}
	for i := range number(c.arg(1)) {
		all.Go(func() error {
			_, err := programs[i%2].RunTask(m.ctx, c.arg(0), nil)
			return err
		})
	}
	return "ok", all.Wait()
}

// novaRun runs the cleanup until that many sessions are held, and stops it.
func novaRun(m *manager, c call) (string, error) {
	ctx, stop := context.WithCancel(m.ctx)
	ended := make(chan error, 1)
	go func() { ended <- m.nova.Run(ctx) }()
	for len(m.nova.Held()) > int(number(c.arg(0))) && len(ended) == 0 {
		time.Sleep(time.Millisecond)
	}
	stop()
	return "ok", <-ended
}

func novaOptions(c call) nova.Options {
	o := nova.Options{ID: c.options["id"], Model: c.options["model"], Agent: c.options["agent"], CWD: c.options["cwd"]}
	if t := c.options["tags"]; t != "" {
		o.Tags = strings.Split(t, ",")
	}
	return o
}

// dict prints a state as Nova's to_dict does.
func dict(s dialect.State, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return string(s.Dict()), nil
}

func yes(b bool, err error) (string, error) { return fmt.Sprint(b), err }

func novaIDs(ids []string, err error) (string, error) { return orNone(strings.Join(ids, " ")), err }
