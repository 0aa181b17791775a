// Package loop runs agents: programs that ask a model, run the tools that it calls,
// and ask again. A run survives its host. If the process or its machine dies,
// another one opens the session with session.TakeOver and continues where the rows
// end.
//
//	l, err := loop.Start(ctx, log, user, agent, loop.Config{Model: m, Tools: tools}, session.Options{})
//	result, err := l.Run(ctx)
//
// # What is durable when
//
// A run is a sequence of steps, and State.Next derives the next one from the rows of
// the session alone. Every step is stored before one that depends on it begins:
//
//   - the reply of a model, before its calls run;
//   - the note that a call starts, before it does, unless its tool can be repeated;
//   - the result of a call, before the next call with the same key, and before the
//     next request.
//
// So a host that takes over knows of each call without a result whether it can have
// run, and does what the Policy of its tool says. A reply that was not stored is
// asked for again: nothing has followed from it. Rows of results are in the order of
// the calls, so a result that is there before that of an earlier call waits for it;
// if the host dies then, its call counts as started. A row that the log could not take
// in time stays in the Session, and the next Run sends it first.
//
// A loop whose head another writer took over learns that from the first write, and
// stops with a *core.FencedError that names the writer. Each request and each call
// follows a durable row, so it does nothing more.
//
// # How it is stored
//
// Sessions are in the dialect of OpenRath, whose rows these are. An assistant's line
// has one more member, loop, which OpenRath ignores: why the reply ended, its usage,
// and the indexes of the calls that were started. The last changes while the calls
// run, by amending the line; everything else is appended. Replies that a session
// begins with, of another run, have "inherited" there; their calls count as started.
//
// # What it does not do
//
// It opens no sandboxes: a tool runs where its Run runs it. It retries no model:
// the libraries of the vendors do that.
package loop
