package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// defaultURL is the default address of sessnode.
const defaultURL = "http://127.0.0.1:7433"

// Short is the default timeout of most verbs. Verbs whose work grows with the
// session use Forever; --timeout overrides both.
const (
	Short   = 30 * time.Second
	Forever = 0
)

// An App is one run of the program: its global flags, streams and environment.
type App struct {
	Env    func(string) string
	Stdin  io.Reader
	Stdout Screen
	Stderr Screen
	Now    func() time.Time

	URL string
	// ContextName is the value of --context.
	ContextName string
	Token       string
	tls         tlsFlags
	Format      Format
	Wide        bool // whether tables have more columns and are not cut
	timeout     time.Duration
	secrets     string      // the value of --secrets
	Demand      demandFlags // for verbs that read
	DryRun      bool        // for verbs that write, see DryRunFlag
	saidDry     bool

	MaxFile int64 // limit of a session file, in bytes
	started bool  // the command line is valid: later errors are not misuse
}

// New returns an app with that environment and those streams.
func New(env func(string) string, stdin io.Reader, stdout, stderr io.Writer) *App {
	errs := newScreen(stderr, env)
	errs.Writer = &lockedWriter{w: stderr} // some verbs work concurrently
	return &App{
		Env:     env,
		Stdin:   stdin,
		Stdout:  newScreen(stdout, env),
		Stderr:  errs,
		Now:     time.Now,
		Format:  Table,
		MaxFile: 512 << 20,
	}
}

// Within returns the context of cmd with the timeout of --timeout, or else limit.
func (a *App) Within(cmd *cobra.Command, limit time.Duration) (context.Context, context.CancelFunc) {
	if a.timeout > 0 {
		limit = a.timeout
	}
	if limit == Forever {
		return context.WithCancel(cmd.Context())
	}
	return context.WithTimeout(cmd.Context(), limit)
}

// Run returns the RunE of a verb that calls f within the timeout of --timeout, or else limit.
func (a *App) Run(limit time.Duration, f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := a.Within(cmd, limit)
		defer cancel()
		return f(ctx, args)
	}
}

// Client returns a client for the node that flags, environment or context name.
func (a *App) Client() (*client.Client, error) {
	at, err := a.cluster()
	if err != nil {
		return nil, err
	}
	base, err := CheckURLs(at.URL)
	if err != nil {
		return nil, err
	}
	secret, err := at.secret()
	if err != nil {
		return nil, err
	}
	// The token of a context is sent to its own nodes only, and no other token is.
	token := cmp.Or(a.Token, secret, a.Env("SESS_TOKEN"))
	c := client.ClientOf(strings.Split(base, ","), strings.TrimSpace(token))
	if a.DryRun {
		a.sayDry()
		c = c.DryRun()
	}
	return c, a.secure(c)
}

// Base returns the URL of the node that Client calls, or several separated by
// commas.
func (a *App) Base() (string, error) {
	at, err := a.cluster()
	if err != nil {
		return "", err
	}
	return CheckURLs(at.URL)
}

// CheckURLs validates URLs separated by commas, and removes white space.
func CheckURLs(list string) (string, error) {
	bases := strings.Split(list, ",")
	for i, base := range bases {
		bases[i] = strings.TrimSpace(base)
		u, err := url.Parse(bases[i])
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", Usagef("%.128q is not the URL of a node: use the form %s", bases[i], defaultURL)
		}
	}
	return strings.Join(bases, ","), nil
}

// Caller returns the user and the host, which the log stores with a change.
func (a *App) Caller() (by, host string) {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return cmp.Or(a.Env("SESS_BY"), a.Env("USER"), a.Env("LOGNAME")), host
}

// Notice returns the caller with a reason, which the log stores with a change.
func (a *App) Notice(why string) api.Notice {
	by, host := a.Caller()
	return api.Notice{By: by, Host: host, Why: why}
}

// WhyFlag adds --why, the reason of a Notice.
func WhyFlag(cmd *cobra.Command, why *string) {
	cmd.Flags().StringVar(why, "why", "", "the reason, a `TEXT` that the log stores")
}

// Input returns standard input. Unlike a read from a terminal, a read of it ends
// with ctx.
func (a *App) Input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(w, a.Stdin)
		_ = w.CloseWithError(err)
	}()
	return r
}

// Notef prints a note to standard error. With -o json it prints nothing.
func (a *App) Notef(form string, args ...any) {
	if a.Format == Table {
		fmt.Fprintf(a.Stderr, "sessctl: %s\n", Plain(fmt.Sprintf(form, args...)))
	}
}

// ParseDigest parses a digest, with or without the prefix "sha256:".
func ParseDigest(s string) (core.Digest, error) {
	if !strings.HasPrefix(s, "sha256:") {
		s = "sha256:" + s
	}
	return core.ParseDigest(s)
}
