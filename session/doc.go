// Package session works with an agent's session, whatever the agent and wherever
// the session is kept. It offers what the agents' own session managers offer,
// over a log or in memory.
//
// A [Session] holds the header, the entries and the leaf in memory, and reads
// them by the rules of the session's dialect. Writing appends to the tree at the
// leaf and moves the leaf. If the session is kept in a [Log], a write returns
// when it is durable there. One call is one record, so readers see all of a turn
// or nothing.
//
//	s, err := session.Create(ctx, log, "/home/dev/site", session.Options{Dialect: "pi"})
//	id, err := s.Append(ctx, item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: …})
//
// # Who may write
//
// A session that is opened for writing claims its head. If another writer takes
// the head over, it fences this one, whose writes then fail with a
// *core.FencedError. With [Shared] there is no claim; each write is stored only
// if the head has not moved since this Session last saw it.
//
// # When a write fails
//
// A write that breaks a rule (core.ErrInvalid, ErrNotFound, ErrTooLarge) changes
// nothing. If the log fails, nothing is lost: the Session keeps the entries,
// continues as if they were stored, and returns them from [Session.Unsent]. Do
// not append them again. After a temporary failure (no connection, unknown
// outcome, full log) each later write, [Session.Flush] and [Session.Close] send
// them first; their ids make that safe. A permanent failure (another writer
// holds the head, the head moved, the session is deleted) is returned by every
// later write, until [Session.BranchOff] moves the entries to a separate head,
// [Session.Rebase] puts them after the new end of the head, or
// [Session.Discard] drops them.
//
// # Lazy sessions
//
// With [Options.Lazy] a new session is not in the log until its agent would have
// written a file, see core.Dialect.Keeps. Then all of it is stored as one record.
// A session that is abandoned earlier leaves nothing.
//
// # What it does not do
//
// It writes no files (sessctl resume does), converts nothing and calls no model.
package session
