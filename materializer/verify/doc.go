// Package verify says whether a session is all there and unharmed, and mends
// what another copy can mend.
//
// A Report names every kind of damage: to records (hole, record, body, stray),
// to one server's copy of them (copy), to the latest snapshot (snapshot), to
// blobs (blob), and to the session's row (row). Verify changes nothing, but that a session which is in memory here and
// was lost from the log is put back, as by any reader.
//
// Repair never guesses: it writes only bytes whose digest is known, and lines
// that are in the log. A record that is gone from all copies stays named.
//
// The package decides nothing about when: sessctl and the API ask.
package verify
