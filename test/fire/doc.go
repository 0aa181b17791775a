// Package fire holds the log under fire: real sessnode processes under load
// while they are killed and paused and the network between them fails, and all
// that was said then held against what is there afterwards.
//
// The load is of two kinds. In a round, a few clients do all that may be done to
// one new session, through all nodes: append, with an expected place and
// without, claim, take over, release, move a head, read. What they are told is a
// history, which Porcupine checks against a model of a session (model_test.go).
// A pulse is one writer that appends line after line and never gives one up; the
// longest time that it goes without an answer is what a fault costs.
//
// At the end every session is read through every node. The history must be
// linearizable, those last reads included; what was acknowledged is there once
// and in its writer's order, no parent is missing, no turn is there in part, no
// record is by a writer whose head it was not, and all nodes give the same bytes.
//
// What has no answer may take effect later, or never. A server that was cut off
// or paused may answer from what it knew, for 10 to 20 seconds: then, a read or
// a refusal need only be true of some earlier time, unless -strict asks for
// reads that a quorum agrees on. A write that is answered is excused by nothing.
//
//	go test ./test/fire                          a short form, half a minute
//	go test ./test/fire -v -long                 minutes, and faults of the network
//	go test ./test/fire -v -for 10m -seed 4711   as long as one likes
//	go test ./test/fire -v -for 1m -run Hosts -faults "cut off leader,kill all"
//	.ci/run fire                                 what CI runs
//
// A seed decides which faults come when, and what each client draws; what meets
// what is up to the machine. Faults of the network need Linux, root, and the ip
// command (see package lan); where they cannot be, the test says so.
//
// broken_test.go shows that the checks fail where they must. What is not here: a
// power cut, a full disk, damaged bytes, an object store that fails, clocks that
// jump.
package fire
