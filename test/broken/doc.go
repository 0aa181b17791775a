// Package broken shows that the tests can fail. Each of its breaks takes one rule
// out of the protocol, in a copy that only the compiler sees, and the simulation
// of package stream must then find a promise broken.
package broken
