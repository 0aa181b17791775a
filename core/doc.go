// Package core defines what a session is.
//
// A session is a tree of entries, each one JSON line that an agent wrote. The
// log stores it as a chain of records. A record holds what one append stored: a
// kind, a dense sequence number, a link to the previous record and a body of
// whole lines. State.Apply folds records into a State. The dialect of the
// session's agent reads a tree, a leaf and a context from the State's entries.
//
// The guarantees of this package:
//
//   - Lines are kept byte for byte. This package never re-encodes an agent's
//     line. The only change is to the base64 of a large image, and package image
//     restores that exactly.
//   - The fold is pure and total: the same records give the same State
//     everywhere, and no bytes make it panic.
//   - A call that returns an error has changed nothing.
//
// The package does no I/O, reads no clock, uses no randomness and starts no
// goroutine. Storing records is the task of a Log: package stream stores them
// in JetStream, package memlog in memory, and both pass package logtest.
package core
