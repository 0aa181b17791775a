package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// explainArguments makes all verbs below cmd answer a wrong number of arguments
// with their usage line.
func explainArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
		check := sub.Args
		if check == nil {
			continue
		}
		sub.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || isUsage(err) || !miscounted(err) {
				return err
			}
			if cmd.HasSubCommands() {
				return cli.Usagef("unknown verb: %s %.128q; the verbs are: %s", cmd.CommandPath(), args[0], strings.Join(verbsOf(cmd), ", "))
			}
			return cli.Usagef("got %s; usage: %s", cli.Count(len(args), "argument", "arguments"), lineOf(cmd))
		}
	}
}

// miscounted reports whether err is cobra's error for a wrong number of arguments,
// which has no type. "unknown command" is that of a verb without arguments.
func miscounted(err error) bool {
	for _, start := range []string{"accepts ", "requires at least ", "unknown command "} {
		if strings.HasPrefix(err.Error(), start) {
			return true
		}
	}
	return false
}

func isUsage(err error) bool {
	_, ok := err.(*cli.UsageError)
	return ok
}

// lineOf returns the usage line of a verb.
func lineOf(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// verbsOf returns the names of the verbs below cmd.
func verbsOf(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}
