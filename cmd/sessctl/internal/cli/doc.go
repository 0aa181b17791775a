// Package cli is what the verbs of sessctl share: the client and its flags, the
// selection of sessions, heads and times, output as tables or JSON, progress, and
// how an error becomes a message, a hint and an exit code.
package cli
