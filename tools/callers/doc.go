// Command callers lists the exported functions and methods of core, session and
// the dialects that no user can reach: no program, no Example and no scenario of
// test/capabilities calls them, directly or through other functions. It exits
// with 1 if one is not in allowed.txt, or if allowed.txt has one that is called.
//
//	go -C tools run ./callers
//
// A method counts as called if its type is used and it implements a method of an
// interface, whether or not that interface is used with the type.
package main
