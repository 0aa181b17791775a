// Package e2e holds what Sesslog promises against real processes: sessnode,
// sessctl and an S3 server as they are run, killed, stopped and started again.
//
// What is shown here:
//
//   - An acknowledged append outlives kill -9 of its node at any instant, and
//     is there once; a retry of one without an answer is stored once. A start
//     after a kill is an ordinary start.
//   - A session written through one node of a cluster is resumed through
//     another when the first is killed. When that one is back, every node gives
//     the same info, tree, context, export and snapshot, byte for byte, and the
//     former writer is fenced, told by whom.
//   - An import that is interrupted by a kill is there as a whole or not at all.
//   - SIGTERM lets what was begun finish. A directory has one node at a time.
//   - A follower that goes on from its cursor misses nothing and sees nothing
//     twice, over restarts of its node.
//   - Without its object store, a node refuses what needs it, and only that.
//   - Two nodes on a NATS of somebody else's share one log.
//   - What the README tells a reader to type does what it says; and where
//     SESS_CORPUS names the corpus of real session files, each of them comes
//     back as it went in, and info, tree and context are what its agent says.
//
// What is not shown: a power cut (kill -9 leaves the kernel's caches alone), a
// full disk, speed, and the agents' own programs. Histories that are
// linearizable, and a network that fails, are what test/fire is for.
//
// The tests need nothing but Go: the programs are built from the source, the S3
// server is built once and kept. With -long they run longer and kill more
// often. Session files are made up by package harness; seeds are logged.
package e2e
