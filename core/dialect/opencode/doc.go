// Package opencode reads and writes sessions of opencode, by the rules of its
// version 1.18.33.
//
// opencode keeps all sessions in one database. Each session has an event log
// there: whole rows of the session, of its messages and of their parts, each of
// which replaces the row with the same id. The session is what these events fold
// into. opencode hands events out, and takes them from other hosts, in its sync
// interface; `opencode export` writes what they fold into as one document.
//
// In the log, an entry is an event as it is, byte for byte; events.json is the
// list of them. An export without events becomes an entry for each message and
// one, of the type export, that says which of these make the session. So a later
// export of a session that grew adds what changed. Events of other sessions, and
// what is neither event nor export, are kept in envelopes.
//
// Entries that were made in the log are messages and results of tools. They are
// completed, and get ids, when they are folded.
//
// This package gives the same results as opencode, except where opencode fails or
// hides data:
//
//   - Messages that a revert removed stay in the log, and count as used.
//   - A result without its call is a separate message. opencode has no such messages.
//   - What a model cannot read is taken for what a model of texts and images
//     cannot read: opencode then sends a text about it.
package opencode
