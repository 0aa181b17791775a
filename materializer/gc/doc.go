// Package gc collects blobs that no session names any more.
//
// It marks and sweeps. Mark reads every session from the log itself, never from
// the directory: all records that the log still has of it, its latest snapshot,
// and the blobs that large bodies are. Whatever looks like a blob's name counts.
// Sessions in the trash count, erased ones do not. One session that cannot be
// read ends the run with its name, and nothing is touched.
//
// Sweep moves to the store's trash what is older than the grace and was not
// named, puts back what is named again, and deletes what lay in the trash for a
// grace, was not named even then, and has been recorded (Config.Record).
//
// Why this is safe with writers at work: a writer puts a blob, which makes it
// younger than half the grace or finds it so, and stores the record that names it
// within another half, or puts it again. So a blob whose record came too late to
// be marked is younger than the grace, counted from the moment the run began.
// Because moves only copy and then delete, and only old copies in the trash are
// deleted, that argument needs to hold twice, a grace apart, before a byte is
// lost. Runs may be killed at any step, and several may run at the same time.
//
// A bucket in which another log keeps its blobs, too, is left alone: blobs have
// no log in their names, and that log's sessions are not read here.
package gc
