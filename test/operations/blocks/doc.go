// Package blocks reads the commands out of a Markdown document: its blocks of
// shell, and what its text names in code spans. Tests run them, or hold them to
// the programs, so that documents stay true.
package blocks
