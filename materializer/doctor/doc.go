// Package doctor looks at everything that a node can see of its log, and says
// what is wrong, how bad it is, and what mends it.
//
// A Check is one thing that is looked at: the server's settings, the streams,
// the shards' followers, the listing, snapshots, the object store, the disk, the
// clock. What it finds is a Finding with a Level. A check that cannot be made is
// a finding, too: what was not looked at is not well.
//
// Examine changes nothing. Treat mends what is safe to mend, which is what can be
// made again from the log: rows, and snapshots whose records are all there. All
// else is the operator's to decide; the finding names the command.
//
// The package does not read sessions whole, nor their blobs; package verify does.
package doctor
