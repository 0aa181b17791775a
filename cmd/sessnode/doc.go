// Command sessnode is a node of a log of agents' sessions.
//
// By default it is self-contained: an embedded JetStream server that syncs every
// write, blobs in files, and an HTTP API on loopback. With cluster.name, several
// nodes form a replicated log; with nats.url, a node serves a log on an external
// NATS. `sessnode config` prints every setting with its meaning.
//
// serve.go listens, node.go opens the parts in the order of their dependencies, and
// run.go runs them until one fails or a signal arrives. The parts stop in reverse
// order: followers of files, the API, then its services.
package main
