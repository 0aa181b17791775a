package cli

import (
	"context"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// Host describes this host and its user for package agent.
func (a *App) Host() *agent.Host {
	by, name := a.Caller()
	return &agent.Host{
		Env: a.Env, Name: name, By: by, Now: a.Now, Claims: a.Claims(), MaxFile: a.MaxFile,
		PathRows: func() ([][]string, string, error) {
			s, err := a.settings()
			return s.Paths, a.settingsFile(), err
		},
		Note: func(text string) { a.Notef("%s", text) },
	}
}

// Claims returns the claims that this host remembers.
func (a *App) Claims() agent.ClaimStore { return agent.NewClaimStore(a.Env, a.DryRun) }

// LifeText says whether the holder of a claim seems to be active.
func (a *App) LifeText(l *session.Life) string { return agent.LifeText(l, a.Now()) }

// SendImages sends the images that a file refers to before the file itself. It
// returns those that the agent's store lacks. Standard input cannot be read twice,
// so its images are not sent.
func (a *App) SendImages(ctx context.Context, node *client.Client, name, dialect, given string) (missing []core.Digest, store string, err error) {
	store, err = a.Host().ImageStore(dialect, given)
	if err != nil || store == "" || name == "-" || a.DryRun {
		return nil, store, err
	}
	missing, err = agent.SendImages(ctx, node, name, store)
	return missing, store, err
}
