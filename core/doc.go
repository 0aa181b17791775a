// Package core says what a session is.
//
// A session is a tree of entries, each one JSON line that an agent wrote. The
// log keeps it as a chain of records: a record is what one append stored, a
// kind, a dense number, a link to the record before it and a body of whole
// lines. Fold turns records into a State; the dialect of the session's agent
// reads a tree, a leaf and a context out of the State's entries.
//
// The promises of this package:
//
//   - Lines are kept byte for byte. Nothing here re-encodes an agent's line;
//     the one change ever made is to the base64 of a large image, and Inline
//     undoes it exactly.
//   - The fold is pure and total: the same records give the same State
//     anywhere, and no bytes of any kind make it panic.
//   - A call that returns an error has changed nothing.
//
// The package does no I/O, reads no clock, makes no random number and starts
// no goroutine. Keeping records is the business of a Log: package stream keeps
// them in JetStream, package memlog in memory, and both pass package logtest.
package core
