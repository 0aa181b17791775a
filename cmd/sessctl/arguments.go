package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// explainArguments has every verb below cmd that is given too few arguments or too
// many say which it takes.
func explainArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
		check := sub.Args
		if check == nil {
			continue
		}
		sub.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || isUsage(err) {
				return err
			}
			if cmd.HasSubCommands() {
				return usagef("there is no %s %.128q; there is: %s", cmd.CommandPath(), args[0], strings.Join(verbsOf(cmd), ", "))
			}
			return usagef("it was given %s, and takes: %s", count(len(args), "argument", "arguments"), lineOf(cmd))
		}
	}
}

func isUsage(err error) bool {
	_, ok := err.(*usageError)
	return ok
}

// lineOf is how a verb is written.
func lineOf(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// verbsOf are the verbs below cmd.
func verbsOf(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}
