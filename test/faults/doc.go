// Package faults holds what Sesslog promises when what lies below it fails: the
// disk, the object store, the clock, and bytes that are no longer what they
// were. Nodes are real sessnode processes, see package harness; what is faulty
// is put around them:
//
//   - an HTTP proxy between a node and a real S3 server that is down, slow,
//     answers with errors, cuts answers short, or gives other bytes;
//   - a small tmpfs that a node's directory fills;
//   - bits flipped in the files of a node that does not run;
//   - an older copy of a node's streams, put back;
//   - a process that sleeps through a take-over;
//   - a sessnode whose clock reads what the test says, built over a copy of one
//     file of Go's own library; the product has no such switch.
//
// Most tests have writers at work all the while. Each of them says numbered
// things, and each again until it has an answer, so that at the end every
// session can be compared with what was acknowledged: nothing lost, nothing
// twice, nothing out of a writer's order, no parent that is nowhere. The
// figures are logged.
//
// With -long there are more rounds. -seed repeats a run's random choices.
package faults
