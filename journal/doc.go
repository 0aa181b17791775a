// Package journal keeps what a writer wants stored in files of its own host, so
// that a writer goes on while the log cannot be reached, and nothing it was told
// is kept is lost.
//
// A [Journal] is a directory with one file for each session. What is kept there
// is framed, checksummed and flushed before it counts. One process has a journal
// at a time.
//
// A [Log] is a session.Log over another one and a Journal. What is to be stored
// is written to the journal first and then to the log. Where the log cannot be
// reached it counts as kept, and later calls for that session go on behind it.
// [Log.Send] and [Log.Run] bring it to the log once that is back: in order, once,
// in the name of the writer's claim. If somebody else went on meanwhile, it goes
// to a head of its own, forked from where the writer stood. What cannot land at
// all (the session was deleted, say) stays in the journal and is named.
//
// # What is remembered after it was stored
//
// Appends stay in the journal until a snapshot of the session covers them. When a
// reading of the session shows that the log lost one, it is appended again. This
// memory is bounded and gives way to what waits.
//
// # What it does not do
//
// It decides nothing about who may write: the log does. It merges nothing: both
// histories are kept, and people or agents decide. A claim can be made while the
// log is away only on a session that was made while it was away, too.
package journal
