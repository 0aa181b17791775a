// Package filename makes file names from the fields of a session. Each is the name
// of one file: no separator, not "..", at most 255 bytes.
package filename
