// Command sessctl is the operator's tool for sessions.
//
// It calls a node through package api/client and nothing else. Verbs that only read
// also accept a session file, or standard input, and then need no node. docs/CLI.md
// is generated from the help: every verb with its flags, its output with -o json,
// the exit codes and the environment.
//
// Each verb has a file of its own with a function that makes its command, and a
// line in verbs (app.go). Shared parts:
//
//   - session.go resolves a SESSION argument.
//   - file.go reads a session file; output.go prints.
//   - writer.go chooses the claim that a write belongs to.
//   - topics.go has the help that belongs to no verb: sessctl help TOPIC.
//   - exit.go turns an error into one line, a hint, and an exit code.
//
// What an agent wrote is printed without control characters.
package main
