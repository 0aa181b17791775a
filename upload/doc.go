// Package upload keeps bytes that arrive in parts, on the disk of the node that
// takes them: an import over a line that breaks goes on where it broke off.
//
// An upload is named by its owner, the SHA-256 of the whole and its size, so
// whoever begins the same one again is told how far it is. What was acknowledged
// is on the disk, flushed. Nothing here is replicated: an upload is a way to the
// log, not a place to keep anything, and is gone a day after it was begun, used
// or not.
package upload
