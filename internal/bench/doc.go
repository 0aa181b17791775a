// Package bench measures appends and the opening of sessions, and compares each with
// a baseline in the same run: raw JetStream publishing that flushes each message, and
// reading and parsing a plain file.
//
// Servers have directories of their own. Appends over HTTP go to nodes in processes of
// their own. Machines differ and are noisy: compare the ratios of a run, and the
// medians of several runs.
package bench
