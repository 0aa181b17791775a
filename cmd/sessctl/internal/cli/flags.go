package cli

import "github.com/spf13/pflag"

// AddFlags adds the flags that all verbs share.
func (a *App) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&a.URL, "url", "", "the `URL` of the node, or of several nodes separated by commas, of which the first that answers is used (SESS_URL; default  "+defaultURL+")")
	f.StringVar(&a.ContextName, "context", "", "use the cluster of the context `NAME`, see sessctl contexts (SESS_CONTEXT; default the current one)")
	f.StringVar(&a.Token, "token", "", "the `TOKEN` to authenticate with (SESS_TOKEN, which process lists do not show)")
	a.tls.add(f)
	f.VarP(outputFlag{a}, "output", "o", "`FORMAT`: table; wide, a table that is not cut and has more columns; json, for programs")
	DurationVar(f, &a.timeout, "timeout", 0, "give up after this `TIME` (default 30s; no limit for verbs whose work grows with the session)")
}

// Start marks the command line as valid: later errors are not misuse. It applies
// -o wide.
func (a *App) Start() {
	a.started = true
	if a.Wide {
		a.Stdout.Width = 0
	}
}

// GuessFormat applies the -o of args before they are parsed, so that an error in
// an earlier flag is printed in that format, too.
func (a *App) GuessFormat(args []string) { _ = outputFlag{a}.Set(wanted(args)) }
