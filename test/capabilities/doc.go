// Package capabilities checks what the sessions of each agent can do. It checks
// the table of docs/DIALECTS.md: it has a row for every capability, and the code
// and tests of each row exist. And it plays the scenarios of testdata against the
// real programs: sessctl, HTTP requests and the Go program manager, to a node, or
// with -nodes 3 to a cluster of three. With -mutate it removes capabilities from
// the programs, one by one, and requires that the scenario of each fails.
package capabilities
