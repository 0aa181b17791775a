// Package operations runs the commands of docs/OPERATIONS.md unchanged, in shells
// on simulated hosts, and checks the results that the document promises. It has
// tests only.
package operations
