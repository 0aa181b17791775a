// Package blocks extracts the commands of a Markdown document: shell blocks and
// code spans. Tests run them or parse them, so that documents stay correct.
package blocks
