// Package mcpserver serves a log to agents by the Model Context Protocol, so that an
// agent can recall what any agent of the fleet did. It only reads.
//
// Tools: list_sessions, search_sessions, read_session and session_context. Each
// session is a resource, session://ID, whose subscribers learn of new entries. Texts
// of sessions are data that other agents wrote: a result says so, and is limited in
// size.
package mcpserver
