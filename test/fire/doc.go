// Package fire tests real sessnode processes under load while they are killed and paused
// and the network between them fails. It then compares every answer with the final state.
//
// There are two kinds of load. In a round, a few clients run all kinds of operations on
// one new session, through all nodes: append with and without an expected position,
// claim, take over, release, move a head, read. Their answers form a history, which
// Porcupine checks against a model of a session (model_test.go). A pulse is one writer
// that appends line after line and retries each until it has an answer. Its longest time
// without an answer is the cost of a fault.
//
// At the end every session is read through every node. The history must be linearizable,
// including these last reads. Every acknowledged entry exists once and in its writer's
// order, no parent is missing, no append is stored in part, no record is by a writer
// whose head it was not, and the exports of all nodes are byte-identical.
//
// A request without an answer may take effect later, or never. A server that lost its
// quorum or was paused may give old answers for 10 to 20 seconds. During that time a
// read or a refusal need only have been true at some earlier time, unless -strict
// requires reads that a quorum confirms. There is no exception for acknowledged writes.
//
//	go test ./test/fire                          short mode, half a minute
//	go test ./test/fire -v -long                 minutes, and faults of the network
//	go test ./test/fire -v -for 10m -seed 4711   any duration
//	go test ./test/fire -v -for 1m -run Hosts -faults "cut off leader,kill all"
//	.ci/run fire                                 what CI runs
//
// A seed decides the order of the faults and the random choices of each client; their
// timing depends on the machine. Network faults need Linux, root, and the ip command (see
// package lan); without these, the test says so and skips them.
//
// broken_test.go shows that the checks detect violations. Not tested here: power cuts,
// full disks, corrupt bytes, failures of the object store, clock jumps.
package fire
