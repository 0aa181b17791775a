// Package bench measures what an append and an opening cost, each beside a
// baseline in the same run: raw JetStream publishing on the same server, a
// plain file read and parsed.
//
// The server is an embedded one in a directory of its own that flushes before
// every answer, as a node's does by default. Machines differ and are noisy:
// compare the ratios of one run, and the medians of several.
package bench
