// Package dialect is the table of the dialects that this program knows, and of
// the profiles by which their sessions can be read. A new dialect has a folder
// of its own beside this one and a row in the table; nothing else names it.
//
// A dialect is whose lines a session is made of, and a session has one for
// life. A profile is whose rules it is read by: those of its own agent, those
// of an older version, or those of another agent. Agents that read each
// other's files are a family, and their profiles read each other's lines as
// they are. For any other profile the session is converted first, by package
// convert.
//
// It finds rules and has none itself.
package dialect
