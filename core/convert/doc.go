// Package convert turns a session of one agent into a session of another
// (Convert), and two sessions of one agent into one (Merge). It names no
// dialect.
//
// Convert works by way of items: what an entry says in terms that all agents
// share (item.Item). Between agents whose sessions are trees the tree is kept,
// with its branches, labels and ids. An agent whose sessions are one chain gets
// the path to the leaf, and of that path only what the first agent would still
// send to its model: after a compaction its summary, what it kept, and what came
// later. What cannot be carried over is counted and named.
//
// The result is reproducible byte for byte: new ids are derived from those that
// the sessions have.
package convert
