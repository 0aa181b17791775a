// Package reader is a second reader of stored sessions. It implements
// docs/FORMAT.md and shares no code with the programs: besides the standard
// library it imports a zstd decoder. If a change of the programs makes it read
// something else, either the change breaks the format or the document is wrong.
//
// It reads what the document describes, in the simplest way: everything is in
// memory and nothing is cached.
package reader
