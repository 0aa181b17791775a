// Package operations types the commands of docs/OPERATIONS.md, as they stand
// there, in shells on hosts of its own, and looks whether what the document
// promises came of it. It has tests alone.
package operations
