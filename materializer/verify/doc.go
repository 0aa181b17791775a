// Package verify checks whether a session is complete and intact, and repairs what
// it can from other copies.
//
// A Report names each kind of damage: of records (hole, record, body, stray), of
// one server's replica (copy), of the latest snapshot (snapshot), of blobs (blob),
// and of the session's row (row). Verify changes nothing, except that records which
// the log lost and this node has in memory are stored again, as by any reader.
//
// Repair never guesses: it writes only bytes whose digest is known, and lines that
// are in the log. A record that all replicas lost remains in the report.
package verify
