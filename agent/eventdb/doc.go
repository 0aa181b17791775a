// Package eventdb reads the event logs of sessions from the database of opencode.
//
// The database is a SQLite file that opencode may write at the same time. This
// package opens it for reading only and writes nothing to it. SQLite itself may
// create the index of the write-ahead log beside it, as for any reader.
//
// What it reads is hostile input: the tables must be tables, ids and events have
// bounded sizes, and every query has a time limit.
package eventdb
