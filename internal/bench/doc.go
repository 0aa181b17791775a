// Package bench measures appends and the opening of sessions, and compares each with
// a baseline in the same run: raw JetStream publishing on the same server, and
// reading and parsing a plain file.
//
// The server is an embedded one with its own directory that syncs every write, like
// a node by default. Machines differ and are noisy: compare the ratios of a run, and
// the medians of several runs.
package bench
