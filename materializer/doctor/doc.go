// Package doctor checks everything that a node can see of its log, and reports each
// problem, its severity, and how to repair it.
//
// A Check is one subject: the server's settings, the streams, the shards'
// followers, the listing, snapshots, the object store, the disk, the clock. Each
// thing it finds is a Finding with a Level. A check that fails is a finding, too.
//
// Examine changes nothing. Treat repairs what is safe to repair, because it can be
// derived from the log: rows, and snapshots whose records are complete. Everything
// else is for the operator to decide; the finding names the command.
//
// The package does not read whole sessions, nor their blobs; package verify does.
package doctor
