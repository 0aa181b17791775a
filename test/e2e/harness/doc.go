// Package harness runs the real programs for end-to-end tests: nodes and clusters of
// sessnode, sessctl, and generated session files.
//
// Main builds the programs that tests need, each once, into a temporary directory. A
// Node is one sessnode process with its own data directory. It can be killed, stopped,
// and restarted with the same settings at the same address. Every process that a test
// starts ends with the test. If the test fails, it prints their logs.
//
// The package does not depend on the internals of a node: tests check answers, exit
// codes and files.
package harness
