// Package capabilities checks that docs/DIALECTS.md tells the truth about what
// of each agent's sessions is kept: its table has a row for every capability,
// and what a row points at is there.
package capabilities
