// Package e2e tests the promises of Sesslog with real processes: sessnode, sessctl and
// an S3 server that are started, stopped, killed and restarted.
//
// The tests show:
//
//   - An acknowledged append survives kill -9 of its node at any instant, and is
//     stored once; so is a retry of an append without an answer. The start after a
//     kill needs no repair.
//   - A session that was written through one node of a cluster is resumed through
//     another when the first is killed. After the first restarts, every node returns
//     byte-identical info, tree, context, export and snapshot. The former writer is
//     fenced, and the error names the new holder.
//   - An import that is interrupted by a kill is stored completely or not at all.
//   - SIGTERM lets running requests finish. A directory has one node at a time.
//   - A follower that resumes from its cursor gets every record once, across restarts
//     of its node.
//   - Without its object store, a node refuses only what needs it.
//   - Two nodes on an external NATS server share one log.
//   - The commands of the README do what it says. If SESS_CORPUS names the corpus of
//     real session files, each is exported byte-identical, and info, tree and context
//     agree with its agent.
//
// They do not show power cuts (kill -9 keeps the page cache), speed, or the agents'
// own programs. Package test/fire checks linearizability and network failures.
//
// The tests need only Go: the programs are built from source, and the S3 server is
// built once and cached. With -long they run longer and kill more often. Package
// harness generates session files; seeds are logged.
package e2e
