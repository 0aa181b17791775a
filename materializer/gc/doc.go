// Package gc deletes blobs that no session references any more.
//
// It marks and sweeps. Mark reads every session from the log, never from the
// directory: all records that the log still has, the latest snapshot, and bodies
// that are blobs. Everything that looks like the name of a blob counts as a
// reference, because agents refer to images of their own in many places. Sessions
// in the trash count, erased ones do not. If a session cannot be read, or has
// records of an unknown kind, the run ends with an error that names it, and changes
// nothing.
//
// Sweep moves unreferenced blobs that are older than the grace to the store's
// trash, moves back those that are referenced again, and deletes those that were in
// the trash for a grace, are still unreferenced, and are recorded (Config.Record).
// Reads look in the trash if a blob is not in its place.
//
// This is safe while writers are active: a writer stores a blob, or finds one
// younger than half the grace, and stores the record that references it within
// another half, or stores the blob again. So a blob whose record came too late to
// be marked is younger than the grace, counted from the begin of the run. Since
// moves copy first, each under a separate key, and only old copies in the trash
// are deleted, that argument must fail twice, a grace apart, before a byte is lost.
// A run may be killed at any step, and several may run concurrently.
//
// The clocks of the node and of the store are compared with a margin of half a
// grace.
//
// A bucket that another log uses, too, is left alone: names of blobs do not include
// a log, and the other log's sessions cannot be read here. Every node signs the
// bucket with an object "logs/<log>/<time>", so a run notices.
package gc
