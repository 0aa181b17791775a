// Package layers checks which package imports which, and writes the table of the
// packages in docs/ARCHITECTURE.md. It has tests only.
package layers
