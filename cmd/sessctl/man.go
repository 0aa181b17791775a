package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Writes a manual page for sessctl and for each verb into DIR, such as
/usr/local/share/man/man1. Pages of the same names are replaced.

With -o json: a list of the files.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			names := []string{}
			if err := writePages(cmd.Root(), args[0], &names); err != nil {
				return err
			}
			return a.print(names, func() error { return a.printf("%s in %s", count(len(names), "page", "pages"), args[0]) })
		},
	}
}

// writePages writes the page of cmd and those of its verbs.
func writePages(cmd *cobra.Command, dir string, names *[]string) error {
	if cmd.Hidden || cmd.Name() == "help" {
		return nil
	}
	name := filepath.Join(dir, pageOf(cmd)+".1")
	err := writeFile(name, true, func(w io.Writer) error {
		_, err := w.Write(page(cmd))
		return err
	})
	if err != nil {
		return err
	}
	if err := os.Chmod(name, 0o644); err != nil { // manuals are for everybody
		return err
	}
	*names = append(*names, name)
	for _, verb := range cmd.Commands() {
		if err := writePages(verb, dir, names); err != nil {
			return err
		}
	}
	return nil
}

func pageOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page is the manual page of cmd, in the language of man(7). It has no date, so
// that the same program writes the same page.
func page(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"sesslog\" \"sesslog\"\n", roff(strings.ToUpper(pageOf(cmd))))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageOf(cmd)), roff(strings.ToLower(cmd.Short[:1])+cmd.Short[1:]))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	for _, para := range strings.Split(cmd.Long, "\n\n") {
		if strings.HasPrefix(para, "    ") {
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", roff(para))
			continue
		}
		fmt.Fprintf(&b, ".PP\n%s\n", roff(para))
	}
	writeOptions(&b, "OPTIONS", cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		writeOptions(&b, "OPTIONS OF EVERY VERB", cmd.Root().PersistentFlags())
	} else {
		writeOptions(&b, "OPTIONS OF EVERY VERB", cmd.PersistentFlags())
	}
	writeSeeAlso(&b, cmd)
	return b.Bytes()
}

func writeOptions(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	some := false
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !some {
			fmt.Fprintf(b, ".SH %s\n", title)
		}
		some = true
		arg, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+arg)), roff(usage))
	})
}

func writeSeeAlso(b *bytes.Buffer, cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, pageOf(cmd.Parent()))
	}
	for _, verb := range cmd.Commands() {
		if !verb.Hidden && verb.Name() != "help" {
			pages = append(pages, pageOf(verb))
		}
	}
	for i, name := range pages {
		if i == 0 {
			b.WriteString(".SH SEE ALSO\n")
		}
		end := ","
		if i == len(pages)-1 {
			end = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roff(name), end)
	}
}

// roff is text as it is, whatever it holds: no line of it is a request, and
// hyphens can be copied.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
