// Package damage damages the files of a node, one at a time and in many ways, and checks
// that the outcome of each is clear: everything is served byte for byte, or it was
// healed, or what is missing is named and the rest can be read.
package damage
