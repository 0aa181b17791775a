// Package damage damages the files of a node, one at a time and in many ways, and checks
// that the outcome of each is clear: everything is served byte for byte, or it was
// healed, or what is missing is named and the rest can be read. Then all
// collectors run, and delete nothing that an unhealed loss may need.
//
//	go test ./test/damage                        a case of each kind that sessions are read from
//	go test ./test/damage -args -only " "        a case of each kind of file, on one node
//	go test ./test/damage -args -long 30         30 of each kind, way and stop
//	go test ./test/damage -args -long 30 -seed 7 the same places again
package damage
