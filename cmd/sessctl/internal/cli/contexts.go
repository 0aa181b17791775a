package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/atomicfile"
)

// contexts are the clusters of the user, by name.
type contexts struct {
	Current  string             `yaml:"current,omitempty"`
	Contexts map[string]Cluster `yaml:"contexts"`
}

// A Cluster has the addresses of nodes, and a token for them.
type Cluster struct {
	URL       string `yaml:"url"`                  // or several, separated by commas
	Token     string `yaml:"token,omitempty"`      // or
	TokenFile string `yaml:"token_file,omitempty"` // the path of a file with the token
}

func (a *App) contextsPath() string { return filepath.Join(a.configDir(), "contexts.yaml") }

// ReadContexts reads the contexts of the user. Without a file there are none.
func (a *App) ReadContexts() (contexts, error) {
	c := contexts{Contexts: map[string]Cluster{}}
	path := a.contextsPath()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && err != io.EOF {
		return c, fmt.Errorf("%s: %v: %w", path, err, core.ErrInvalid)
	}
	if c.Contexts == nil {
		c.Contexts = map[string]Cluster{}
	}
	return c, nil
}

// WriteContexts writes the contexts. Only the owner can read the file, because it
// can have tokens.
func (a *App) WriteContexts(c contexts) error {
	path := a.contextsPath()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	b, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, true, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// Named returns the cluster with that name.
func (c contexts) Named(name string) (Cluster, error) {
	t, ok := c.Contexts[name]
	if ok {
		return t, nil
	}
	err := Usagef("no such context: %.64q", name)
	if len(c.Contexts) == 0 {
		return t, Hintf(err, "sessctl contexts add %.64s --url URL", name)
	}
	return t, Hintf(err, "choose one of %s, or: sessctl contexts add %.64s --url URL", strings.Join(slices.Sorted(maps.Keys(c.Contexts)), ", "), name)
}

// cluster returns the cluster to use: of --url, --context, SESS_URL, SESS_CONTEXT,
// the current context, or this host, in this order.
func (a *App) cluster() (Cluster, error) {
	switch {
	case a.URL != "" && a.ContextName != "":
		return Cluster{}, Usagef("--url and --context exclude each other")
	case a.URL != "":
		return Cluster{URL: a.URL}, nil
	case a.ContextName == "" && a.Env("SESS_URL") != "":
		return Cluster{URL: a.Env("SESS_URL")}, nil
	}
	c, err := a.ReadContexts()
	if err != nil {
		return Cluster{}, err
	}
	for _, name := range []string{a.ContextName, a.Env("SESS_CONTEXT"), c.Current} {
		if name != "" {
			return c.Named(name)
		}
	}
	return Cluster{URL: defaultURL}, nil
}

// secret returns the token of the cluster, or "".
func (t Cluster) secret() (string, error) {
	if t.TokenFile == "" {
		return t.Token, nil
	}
	b, err := os.ReadFile(t.TokenFile)
	if err != nil {
		return "", fmt.Errorf("token of this context: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Keeps returns where the token is: "kept" in the contexts file, in a "file" of
// its own, or "none".
func (t Cluster) Keeps() string {
	switch {
	case t.TokenFile != "":
		return "file"
	case t.Token != "":
		return "kept"
	}
	return "none"
}
