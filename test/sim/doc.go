// Package sim runs the unchanged code of the program against a broker and an object store
// in memory that lose, delay, duplicate and forget. Time is virtual, one thing happens at
// a time, and everything follows from a printed seed.
//
//	go test ./test/sim                                a few seconds
//	go test ./test/sim -run TestPromises -steps 1000000
//	go test ./test/sim -run TestPromises -steps 1000000 -forget
//	go test ./test/sim -run TestPromises -seed 4711   one world again, with its last steps
package sim
