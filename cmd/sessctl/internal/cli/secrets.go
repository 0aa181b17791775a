package cli

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/agent/secrets"
)

// SecretsFlag adds --secrets, which Secrets and AgentHost use.
func (a *App) SecretsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.secrets, "secrets", "", "the `MODE` for secrets in lines: off, report or mask (default: the setting secrets)")
}

// Secrets returns what becomes of secrets in lines that leave this host.
func (a *App) Secrets() (p secrets.Policy, err error) {
	s, err := a.settings()
	if err != nil {
		return p, err
	}
	if p.Mode, err = secrets.ParseMode(cmp.Or(a.secrets, s.Secrets)); err != nil || p.Mode == secrets.Off {
		return p, err
	}
	p.Rules, err = a.SecretRules()
	return p, err
}

// SecretRules returns the rules, with those of the user's file secrets.toml.
func (a *App) SecretRules() (*secrets.Rules, error) {
	name := a.settingsFile()
	if name != "" {
		name = filepath.Join(filepath.Dir(name), "secrets.toml")
	}
	return secrets.Read(name)
}

// AgentHost is Host for verbs that send lines of agents to a node.
func (a *App) AgentHost() (*agent.Host, error) {
	p, err := a.Secrets()
	if err != nil {
		return nil, err
	}
	h := a.Host()
	h.Secrets = p
	return h, nil
}
