// Package sim plays the log under faults: the program's own code, unchanged,
// against a broker and an object store in memory that lose, delay, double and
// forget, in virtual time, one thing at a time, from a printed seed.
//
//	go test ./test/sim                                a few seconds
//	go test ./test/sim -run TestPromises -steps 1000000
//	go test ./test/sim -run TestPromises -steps 1000000 -forget
//	go test ./test/sim -run TestPromises -seed 4711   one world again, with its last steps
package sim
