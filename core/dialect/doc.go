// Package dialect is the table of the dialects that this program knows, and of
// the profiles by which their sessions can be read. A new dialect has a folder
// below this one and a row in the table; no other code names it.
//
// A dialect defines the lines of a session, and a session keeps its dialect. A
// profile is the set of rules by which a session is read: those of its own
// agent, of an older version, or of another agent. Agents that read each
// other's files are a family, and their profiles read each other's lines
// unchanged. For any other profile the session is first converted by package
// convert.
//
// The package selects rules and contains none.
package dialect
