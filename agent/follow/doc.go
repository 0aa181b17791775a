// Package follow copies what unmodified agents write to their session files to the
// log, line by line, while they write.
//
// A [Follower] follows directories and files ([Root]). Each complete line of a file
// is soon in the log, once and in order. A Follower reads files and never writes to
// them.
//
// An agent may keep a session in several files ([bundle.Packer]). Their lines are
// packed into one file in the state directory, in the order in which they come, and
// that copy is followed like any session file. It is derived from the agent's files.
// The events of a session in the database of opencode are copied in the same way.
//
// # State
//
// The log decides what is stored. The state directory ([Config.State]) only
// remembers how much of each file is in the log, and hashes of the lines that the
// file had. It is written after the log has acknowledged, and never synced. If it
// lags or is lost, the file is compared with the log; no line is lost or stored
// twice.
//
// # A change of a file
//
// If a file has only grown, the new lines are appended. Any other change is a
// three-way comparison of the lines that the file had when it was last in step, the
// session in the log, and the file:
//
//   - A new line is appended or imported.
//   - A line that changed in the file only is an amend.
//   - A line that changed in the log only stays as it is in the log.
//   - A line that changed in both, or whose history is unknown, is a conflict: the
//     log keeps its own. The conflict is recorded and reported ([Config.Notify]).
//   - A line that was removed from the file stays in the log. A head record says
//     which lines were removed from which file; if the head pointed to one of them,
//     it moves to the last entry that is left.
//
// Lines that are not entries are recorded and reported, too. None of this blocks
// other lines. If a whole file is removed, its session gets a record of that and no
// head moves.
//
// Agents that rewrite a file in place first truncate it. So lines count as removed
// only after the file has been unchanged for 100 ms, and a file only after it has
// been missing for two seconds. Bytes that are about to be sent are read twice,
// around a check of the bytes before them, because the agent may rewrite the file
// at the same moment.
//
// # Unacknowledged requests
//
// A request whose connection breaks may arrive after the file has changed again.
// So each write names the state that it was made for: an amend and an import, that
// nothing was stored in the session since; an append and a move, that the head has
// not moved. Before each write the state directory records that its answer may be
// missing. If it is, a head record that moves nothing (the fence) is stored before
// the file is examined again; from then on, all earlier conditions fail. While
// another writer holds the head, the fence is rejected, as is the request; it is
// retried with exponential backoff. After three rejected imports in a row, an
// import only requires that its own head has not moved, so that busy sessions do
// not block it. A file that is one document is imported without condition: an
// earlier version of it adds nothing.
//
// Lines are noted as announced before they are sent and as stored after. If an
// answer is lost and the file changes again, the line in the log is still known to
// be the file's.
//
// # Several writers
//
// If the head moved because another writer continued the session, the file's lines
// go to a separate head from then on. Lines of other hosts are never written to a
// file.
//
// With [Config.Claims], the head of a file is claimed after its first line is
// stored, so that others see the writer; no line waits for a claim. A claim of the
// same host is shared. A head that another host holds is left to it.
package follow
