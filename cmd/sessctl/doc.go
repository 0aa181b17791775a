// Command sessctl is the operator's tool for sessions.
//
// It calls nodes through package api/client only. Verbs that only read also
// accept a session file, or standard input, and then need no node. docs/CLI.md is
// generated from the help: every verb with its flags, its output with -o json, the
// exit codes and the environment.
//
// Package cli is the kit of all verbs: flags, output, errors and exit codes, and
// what a SESSION argument names. The verbs are in packages read, write, agents and
// admin, each in a separate file. This package assembles them, and has the verbs
// for the program itself.
//
// Text from sessions is not trusted: no control character of it reaches a terminal.
package main
