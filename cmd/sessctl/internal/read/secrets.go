package read

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

func secretsCmd(a app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets SESSION|FILE|DIR...",
		Short: "List what looks like a secret",
		Long: `Searches the entries of sessions, session files, and the session files in and below
directories for what looks like a secret. It prints the session or file, the entry, its
line and the rule, and never the secret. Nothing is sent to a node.

The rules are those of gitleaks, and those of secrets.toml beside sessctl.yaml, in the
same format. Earlier versions of entries are not searched. Remove what is found with
sessctl redact. The setting secrets: mask in sessctl.yaml keeps new secrets on this
host.

The exit code is 8 if something was found.

With -o json: one object per line for each: session or file, entry, line (of a file) and
rule.`,
		Example: `sessctl secrets 019a
sessctl secrets ~/.claude ~/.pi`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			rules, err := a.SecretRules()
			if err != nil {
				return err
			}
			s := &secretSearch{a: a, rules: rules}
			for _, arg := range args {
				if err := s.search(ctx, arg); err != nil {
					return err
				}
			}
			if s.found {
				return cli.Reported{Exit: cli.ExitDamaged}
			}
			return a.noSecrets()
		}),
	}
	a.Demand.Add(cmd)
	return cmd
}

func (a app) noSecrets() error {
	if a.Format == cli.JSON {
		return nil
	}
	return a.Printf("nothing looks like a secret")
}

// A secretSearch is one run of the verb.
type secretSearch struct {
	a     app
	rules *secrets.Rules
	found bool
}

// A foundSecret is the output for one place. It does not have the secret.
type foundSecret struct {
	Session string `json:"session,omitempty"`
	File    string `json:"file,omitempty"`
	Entry   string `json:"entry,omitempty"`
	Line    int    `json:"line,omitempty"` // of the file, from 1
	Rule    string `json:"rule"`
}

func (s *secretSearch) search(ctx context.Context, arg string) error {
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		var failed error
		cli.WalkSessions(arg, func(path string, _ fs.DirEntry, err error) {
			if err == nil {
				err = s.file(path)
			}
			if err != nil && failed == nil {
				failed = err
			}
		})
		return failed
	} else if err == nil {
		return s.file(arg)
	}
	src, err := s.a.Find(ctx, arg)
	if err != nil {
		return err
	}
	return s.session(ctx, src)
}

// session searches a session in the log.
func (s *secretSearch) session(ctx context.Context, src cli.Source) error {
	info, err := src.Node.Info(ctx, src.ID)
	if err != nil {
		return err
	}
	if err := s.line(foundSecret{Session: src.ID}, info.Header); err != nil {
		return err
	}
	d, _ := dialect.Named(info.Log.Dialect) // nil: the node may know more dialects than this program
	body, err := src.Node.Entries(ctx, src.ID, false, client.View{})
	if err != nil {
		return err
	}
	defer body.Close()
	return cli.EachLine(body, func(line []byte) error {
		return s.line(foundSecret{Session: src.ID, Entry: entryID(d, line)}, line)
	})
}

// file searches a file, line by line.
func (s *secretSearch) file(path string) error {
	f, _, err := cli.OpenFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	start := make([]byte, 64<<10)
	n, _ := f.ReadAt(start, 0)
	_, d, _ := dialect.Read("", start[:bytes.LastIndexByte(start[:n], '\n')+1]) // nil: any text can be searched
	in := bufio.NewReaderSize(f, 256<<10)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return cli.FileError(path, err)
		}
		if err := s.line(foundSecret{File: path, Entry: entryID(d, bytes.TrimSpace(line)), Line: number}, bytes.TrimSuffix(line, []byte("\n"))); err != nil || len(line) == 0 {
			return err
		}
	}
}

func entryID(d core.Dialect, line []byte) string {
	if d == nil {
		return ""
	}
	e, err := d.Entry(line)
	if err != nil {
		return ""
	}
	return e.ID
}

// line prints what is found in a line of at.
func (s *secretSearch) line(at foundSecret, line []byte) error {
	for _, f := range s.rules.Find(line) {
		s.found = true
		at.Rule = f.Rule
		if err := s.a.Print(at, func() error { return s.print(at) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *secretSearch) print(at foundSecret) error {
	where := at.Session
	if at.File != "" {
		where = at.File + ":" + strconv.Itoa(at.Line)
	}
	return s.a.Printf("%s  %s  %s", cli.Plain(where), cli.Plain(cli.OrNone(at.Entry)), at.Rule)
}
