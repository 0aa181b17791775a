// Package faults tests what Sesslog promises if the layers below it fail: the disk, the
// object store, the clock, and bytes that change on disk. Nodes are real sessnode
// processes, see package harness. The faults are:
//
//   - an HTTP proxy between a node and a real S3 server that is down, slow,
//     answers with errors, truncates answers, or returns other bytes;
//   - a small tmpfs that a node's directory fills;
//   - bits flipped in the files of a node that does not run;
//   - an older copy of a node's streams, put back;
//   - a process that sleeps through a take-over;
//   - a sessnode whose clock reads what the test says, built over a copy of one
//     file of Go's own library; the product has no such switch.
//
// Most tests have active writers. Each sends numbered lines and retries each one until
// it has an answer. At the end, every session is compared with what was acknowledged:
// no loss, no duplicate, each writer's order kept, no missing parent. The statistics are
// logged.
//
// With -long there are more rounds. -seed repeats the random choices of a run.
package faults
