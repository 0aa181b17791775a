package main

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

// short is how long most verbs wait for a node. Verbs whose work grows with
// the session wait for ever; --timeout overrides both.
const (
	short   = 30 * time.Second
	forever = 0
)

// An app is one run of the program: its flags and the world around it.
type app struct {
	env    func(string) string
	stdin  io.Reader
	stdout screen
	stderr screen
	now    func() time.Time

	url string
	// contextName is the context that --context names.
	contextName string
	token       string
	tls         tlsFlags
	format      format
	wide        bool // tables are not cut and have more columns
	timeout     time.Duration
	demand      demandFlags // of the verbs that read
	dry         bool        // of the verbs that write, see dryFlag
	saidDry     bool

	maxFile int64 // bytes of a session file that are read at most
	started bool  // arguments were fine: what fails from here on is no misuse
}

func newApp(env func(string) string, stdin io.Reader, stdout, stderr io.Writer) *app {
	errs := newScreen(stderr, env)
	errs.Writer = &oneByOne{w: stderr} // some verbs do several things at a time
	return &app{
		env:     env,
		stdin:   stdin,
		stdout:  newScreen(stdout, env),
		stderr:  errs,
		now:     time.Now,
		format:  table,
		maxFile: 512 << 20,
	}
}

// within returns cmd's context, bounded by --timeout or else by limit.
func (a *app) within(cmd *cobra.Command, limit time.Duration) (context.Context, context.CancelFunc) {
	if a.timeout > 0 {
		limit = a.timeout
	}
	if limit == forever {
		return context.WithCancel(cmd.Context())
	}
	return context.WithTimeout(cmd.Context(), limit)
}

// client returns the client for the node that flags and environment name.
func (a *app) client() (*client.Client, error) {
	at, err := a.cluster()
	if err != nil {
		return nil, err
	}
	base, err := checkURLs(at.URL)
	if err != nil {
		return nil, err
	}
	secret, err := at.secret()
	if err != nil {
		return nil, err
	}
	// A context's token is for its own nodes, and so is nobody else's for them.
	token := cmp.Or(a.token, secret, a.env("SESS_TOKEN"))
	c := client.ClientOf(strings.Split(base, ","), strings.TrimSpace(token))
	if a.dry {
		a.sayDry()
		c = c.DryRun()
	}
	return c, a.secure(c)
}

// base is the URL of the node that flags and environment name, or of several,
// with commas between.
func (a *app) base() (string, error) {
	at, err := a.cluster()
	if err != nil {
		return "", err
	}
	return checkURLs(at.URL)
}

// checkURLs returns the URLs of nodes, with commas between, without white space.
func checkURLs(list string) (string, error) {
	bases := strings.Split(list, ",")
	for i, base := range bases {
		bases[i] = strings.TrimSpace(base)
		u, err := url.Parse(bases[i])
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", usagef("%.128q is no node's URL, write it like %s", bases[i], defaultURL)
		}
	}
	return strings.Join(bases, ","), nil
}

// whoami is who and where this is, for those who read the log.
func (a *app) whoami() (by, host string) {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return cmp.Or(a.env("SESS_BY"), a.env("USER"), a.env("LOGNAME")), host
}

// notice is who does something here, and why, for the log to keep.
func (a *app) notice(why string) api.Notice {
	by, host := a.whoami()
	return api.Notice{By: by, Host: host, Why: why}
}

// whyFlag asks for the reason that a notice has.
func whyFlag(cmd *cobra.Command, why *string) {
	cmd.Flags().StringVar(why, "why", "", "the reason, a `TEXT` that the log stores")
}

// input returns standard input. A read of it ends with ctx, which a read from
// a terminal would not.
func (a *app) input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(w, a.stdin)
		_ = w.CloseWithError(err)
	}()
	return r
}

// notef tells people something beside the result; programs are not told.
func (a *app) notef(form string, args ...any) {
	if a.format == table {
		fmt.Fprintf(a.stderr, "sessctl: %s\n", plain(fmt.Sprintf(form, args...)))
	}
}

// parseDigest reads a blob's name, with or without "sha256:" in front.
func parseDigest(s string) (core.Digest, error) {
	if !strings.HasPrefix(s, "sha256:") {
		s = "sha256:" + s
	}
	return core.ParseDigest(s)
}
