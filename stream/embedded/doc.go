// Package embedded runs a NATS JetStream server inside the process, so that a
// node needs no separate installation.
//
// A Server is a NATS server with JetStream; [Server.Connect] connects to it without
// a socket. By default it is a single server. With [Config.Cluster], several Servers
// in several processes form a JetStream cluster. A Dir has the streams of a Server.
// It belongs to one Server at a time, and, once it has streams, to the same single
// server or the same cluster member.
//
// # Promises
//
//   - A publish that a file stream acknowledged survives kill -9 of the process
//     at any instant, without a repair step; with [Config.SyncEvery] zero, the
//     default, also a power cut, if the disk honors fsync. In a cluster this
//     requires a quorum of disks.
//   - With [Config.GroupCommit], the same holds for a message for which
//     [Server.Durable] returned nil: after an unclean stop, Start restores the files
//     of each stream as of its last flush.
//   - Two Servers never run on one Dir: the second Start fails with [ErrInUse].
//   - A setting that lets JetStream lose data is rejected, or logged as a warning
//     that names the risk. In particular, a Dir cannot change between single and
//     clustered, its name or its cluster: JetStream deletes streams that its
//     cluster does not have.
//   - A failed Start, and Close, leave no goroutine, listener or lock.
//
// # Limits
//
// The package creates no streams and does not depend on sessions. It encrypts only
// with certificates (Config.TLS, Cluster.TLS); without them, a Token or Secret is
// sent in the clear, so use other addresses than loopback in a private network only.
// It does not add or remove cluster members, and handles no signals.
package embedded
