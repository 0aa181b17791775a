// Package broken checks that the tests can fail. It removes one rule of the
// protocol at a time, in an overlay that only the compiler sees, and a test must
// then report a broken promise: the simulation of the protocol, unless the rule
// names another test.
package broken
