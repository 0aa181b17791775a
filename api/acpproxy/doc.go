// Package acpproxy connects an editor with an agent by the Agent Client Protocol, and
// keeps their sessions in a log.
//
// It passes each message as it is, but for the ids of sessions: the editor has those of
// the log, the agent its own. Prompts, updates and the ends of turns are lines of a
// session of the dialect acp. The proxy itself answers session/list, session/load,
// session/resume and session/delete from the log.
//
// # What is stored when
//
// A prompt is in the log before the agent gets it, and a turn before the editor is told
// of its end. Updates are shown at once and stored within a second. If that fails, the
// end of the turn is an error that says so; lines that no node has accepted are sent
// again with the next prompt.
//
// # Who may write
//
// A session that is open in an editor is claimed, and released when the editor closes it
// or ends. Loading it elsewhere is an error that names the holder, unless the holder is
// gone. A proxy that was fenced cancels the turn and answers prompts with the error.
//
// # Agents that do not know a session
//
// If the agent's session that took part last is of this host, the agent loads or resumes
// it. Otherwise it begins a new one, and its first prompt begins with what was said as
// text.
package acpproxy
