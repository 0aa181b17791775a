package main

import (
	"context"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// host describes this host and its user for package agent.
func (a *app) host() *agent.Host {
	by, name := a.whoami()
	return &agent.Host{
		Env: a.env, Name: name, By: by, Now: a.now, Claims: a.claims(), MaxFile: a.maxFile,
		PathRows: func() ([][]string, string, error) {
			s, err := a.settings()
			return s.Paths, a.settingsFile(), err
		},
		Note: func(text string) { a.notef("%s", text) },
	}
}

// claims returns the claims that this host remembers.
func (a *app) claims() agent.ClaimStore { return agent.NewClaimStore(a.env, a.dry) }

// lifeText says whether the holder of a claim seems to be active.
func (a *app) lifeText(l *api.Life) string { return agent.LifeText(l, a.now()) }

// sendImages sends the images that a file refers to before the file itself. It
// returns those that the agent's store lacks. Standard input cannot be read twice,
// so its images are not sent.
func (a *app) sendImages(ctx context.Context, node *client.Client, name, dialect, given string) (missing []core.Digest, store string, err error) {
	store, err = a.host().ImageStore(dialect, given)
	if err != nil || store == "" || name == "-" || a.dry {
		return nil, store, err
	}
	missing, err = agent.SendImages(ctx, node, name, store)
	return missing, store, err
}
