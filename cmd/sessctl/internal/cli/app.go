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

// defaultURL is where sessnode listens unless it is told otherwise.
const defaultURL = "http://127.0.0.1:7433"

// Short is how long most verbs wait for a node. Verbs whose work grows with
// the session wait for ever; --timeout overrides both.
const (
	Short   = 30 * time.Second
	Forever = 0
)

// An App is one run of the program: its flags and the world around it.
type App struct {
	Env    func(string) string
	Stdin  io.Reader
	Stdout Screen
	Stderr Screen
	Now    func() time.Time

	URL string
	// contextName is the context that --context names.
	ContextName string
	Token       string
	tls         tlsFlags
	Format      Format
	Wide        bool // tables are not cut and have more columns
	timeout     time.Duration
	Demand      demandFlags // of the verbs that read
	DryRun      bool        // of the verbs that write, see dryFlag
	saidDry     bool

	MaxFile int64 // bytes of a session file that are read at most
	started bool  // arguments were fine: what fails from here on is no misuse
}

func New(env func(string) string, stdin io.Reader, stdout, stderr io.Writer) *App {
	errs := newScreen(stderr, env)
	errs.Writer = &lockedWriter{w: stderr} // some verbs do several things at a time
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

// Within returns cmd's context, bounded by --timeout or else by limit.
func (a *App) Within(cmd *cobra.Command, limit time.Duration) (context.Context, context.CancelFunc) {
	if a.timeout > 0 {
		limit = a.timeout
	}
	if limit == Forever {
		return context.WithCancel(cmd.Context())
	}
	return context.WithTimeout(cmd.Context(), limit)
}

// Client returns the client for the node that flags and environment name.
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
	// A context's token is for its own nodes, and so is nobody else's for them.
	token := cmp.Or(a.Token, secret, a.Env("SESS_TOKEN"))
	c := client.ClientOf(strings.Split(base, ","), strings.TrimSpace(token))
	if a.DryRun {
		a.sayDry()
		c = c.DryRun()
	}
	return c, a.secure(c)
}

// Base is the URL of the node that flags and environment name, or of several,
// with commas between.
func (a *App) Base() (string, error) {
	at, err := a.cluster()
	if err != nil {
		return "", err
	}
	return CheckURLs(at.URL)
}

// CheckURLs returns the URLs of nodes, with commas between, without white space.
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

// Caller is who and where this is, for those who read the log.
func (a *App) Caller() (by, host string) {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return cmp.Or(a.Env("SESS_BY"), a.Env("USER"), a.Env("LOGNAME")), host
}

// Notice is who does something here, and why, for the log to keep.
func (a *App) Notice(why string) api.Notice {
	by, host := a.Caller()
	return api.Notice{By: by, Host: host, Why: why}
}

// WhyFlag asks for the reason that a notice has.
func WhyFlag(cmd *cobra.Command, why *string) {
	cmd.Flags().StringVar(why, "why", "", "the reason, a `TEXT` that the log stores")
}

// Input returns standard input. A read of it ends with ctx, which a read from
// a terminal would not.
func (a *App) Input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(w, a.Stdin)
		_ = w.CloseWithError(err)
	}()
	return r
}

// Notef tells people something beside the result; programs are not told.
func (a *App) Notef(form string, args ...any) {
	if a.Format == Table {
		fmt.Fprintf(a.Stderr, "sessctl: %s\n", Plain(fmt.Sprintf(form, args...)))
	}
}

// ParseDigest reads a blob's name, with or without "sha256:" in front.
func ParseDigest(s string) (core.Digest, error) {
	if !strings.HasPrefix(s, "sha256:") {
		s = "sha256:" + s
	}
	return core.ParseDigest(s)
}
