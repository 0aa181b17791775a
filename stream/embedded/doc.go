// Package embedded runs a NATS JetStream server inside the process, so that a
// node needs nothing installed to keep sessions.
//
// A Server is one NATS server with JetStream on, reached without a socket
// through [Server.Connect]. Alone it is complete. With [Config.Cluster] set,
// several Servers in several processes form one JetStream cluster. A Dir is
// where a Server keeps its streams; it belongs to one Server at a time, and once
// it holds something, to the same single server or the same cluster member.
//
// # Promises
//
//   - A publish that a file stream acknowledged is there after kill -9 of the
//     process at any instant, with no repair step; with [Config.SyncEvery] zero,
//     the default, also after a power cut, as far as the disk tells the truth
//     about fsync. In a cluster this holds for what a quorum of disks holds.
//   - Two Servers never run on one Dir: the second Start fails with [ErrInUse].
//   - A setting that would let JetStream forget is refused, or logged as a
//     warning that names what can be lost. In particular a Dir is refused where
//     it would change from single to clustered or the other way, or change its
//     name or its cluster: JetStream deletes streams its cluster does not know.
//   - A Start that fails leaves no goroutine, listener or lock behind, and so
//     does Close.
//
// # What it does not do
//
// It makes no streams and knows no sessions. It encrypts only where it is given
// certificates (Config.TLS, Cluster.TLS): else a Token or Secret crosses the wire
// in the clear, and ports other than loopback belong inside a private network. It does not add or
// remove cluster members, and it handles no signals.
package embedded
