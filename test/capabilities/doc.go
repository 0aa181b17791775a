// Package capabilities checks the table of docs/DIALECTS.md: it has a row for
// every capability of each agent, and the code and tests of each row exist.
package capabilities
