// Package convert makes a session of one agent into a session of another, by
// way of items: what an entry says in terms that all agents share (core.Item).
// It knows no dialect by name.
//
// Between agents whose sessions are trees the tree is kept, with its branches,
// labels and ids. An agent whose sessions are one chain gets the path to where
// the session stands, and of that what the first agent would still send to its
// model: behind a compaction its summary, what it kept, and what came since.
//
// What cannot be carried over is counted and named. The same request gives the
// same bytes: ids that are new are derived from those there are.
package convert
