package main

import "github.com/spf13/pflag"

// addFlags adds the flags that all verbs share.
func (a *app) addFlags(f *pflag.FlagSet) {
	f.StringVar(&a.url, "url", "", "the `URL` of the node, or of several nodes separated by commas, of which the first that answers is used (SESS_URL; default  "+defaultURL+")")
	f.StringVar(&a.contextName, "context", "", "use the cluster of the context `NAME`, see sessctl contexts (SESS_CONTEXT; default the current one)")
	f.StringVar(&a.token, "token", "", "the `TOKEN` to authenticate with (SESS_TOKEN, which process lists do not show)")
	a.tls.add(f)
	f.VarP(outputFlag{a}, "output", "o", "`FORMAT`: table; wide, a table that is not cut and has more columns; json, for programs")
	f.DurationVar(&a.timeout, "timeout", 0, "give up after this `TIME` (default 30s; no limit for verbs whose work grows with the session)")
}

// start marks the command line as valid: later errors are not misuse. It applies
// -o wide.
func (a *app) start() {
	a.started = true
	if a.wide {
		a.stdout.width = 0
	}
}

// guessFormat applies the -o of args before they are parsed, so that an error in
// an earlier flag is printed in that format, too.
func (a *app) guessFormat(args []string) { _ = outputFlag{a}.Set(wanted(args)) }
