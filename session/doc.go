// Package session is one way to work with an agent's session, whatever agent's
// it is and wherever it is kept: what the agents' own session managers offer,
// over a log or over none.
//
// A [Session] holds the header, the entries and the leaf in memory, as those
// managers do, and reads them by the rules of the session's dialect. Writing
// appends to the tree at the leaf and moves the leaf. Where the session is kept
// in a [Log], a write returns when it is durable there, and one call is one
// record, so nobody ever sees half a turn.
//
//	s, err := session.Create(ctx, log, "/home/dev/site", session.Options{Dialect: "pi"})
//	id, err := s.Append(ctx, core.Item{Kind: core.ItemMessage, Role: core.RoleUser, Blocks: …})
//
// # Who may write
//
// A session that is opened for writing claims its head: whoever takes the head
// over fences it, and from then on its writes fail with a *core.FencedError.
// With [Shared] there is no claim, and each write is stored only if the head has
// not moved since this Session last saw it.
//
// # When a write fails
//
// A write that the rules refuse (core.ErrInvalid, ErrNotFound, ErrTooLarge)
// changes nothing. When it is the log that fails, nothing is lost: the entries
// stay in the Session, which goes on as if they were stored, and [Session.Unsent]
// has them. Do not append them again. After a passing failure (no connection, an
// unknown outcome, a full log) every later write, [Session.Flush] and
// [Session.Close] send them first; their ids make that safe. A lasting one (the
// head is another's, it has moved, the session is deleted) is kept: every later
// write returns it, until [Session.BranchOff] puts the entries on a head of
// their own, [Session.Rebase] behind what moved the head, or [Session.Discard]
// gives them up.
//
// # Lazy sessions
//
// With [Options.Lazy] a new session is not in the log until its agent would have
// made a file of it, as core.Dialect.Keeps says. Then all of it goes in as one
// record. A session that is abandoned before leaves nothing.
//
// # What it does not do
//
// It makes no files (sessctl resume does), converts nothing and calls no model.
package session
