// Package harness runs the real programs for end-to-end tests: nodes and
// clusters of sessnode, sessctl, and session files to feed them with.
//
// Main builds the programs that tests ask for, each once, into a directory of
// its own. A Node is one sessnode process on a directory of its own; it can be
// killed, ended, and started again with the same settings at the same address.
// Whatever a test starts ends with the test, by its process id, and when the
// test has failed, what the process wrote is part of what it says.
//
// Nothing here knows how a node works inside: what tests learn, they learn from
// answers, exit codes and files.
package harness
