// Command sessctl is the operator's tool for sessions.
//
// It speaks to a node through package api's client and to nothing else; the
// verbs that only read also take a session file, or standard input, and then
// need no node at all. docs/CLI.md is generated from its help: every verb with its
// flags, what it prints with -o json, the exit codes and the environment.
//
// Each verb has a file of its own with a func that makes its command, and a
// line in verbs. What they share:
//
//   - session.go finds out what a SESSION argument names.
//   - file.go reads a session file; output.go prints.
//   - claims.go remembers the claims this host was granted, writer.go has the
//     writing verbs speak from them.
//   - atomic.go puts files in place, whole or not at all.
//   - topics.go has the help that belongs to no verb: sessctl help TOPIC.
//   - exit.go turns an error into one line, what to do next, and an exit code.
//
// What an agent wrote is shown, never trusted: nothing in a session reaches a
// terminal as a control character.
package main
