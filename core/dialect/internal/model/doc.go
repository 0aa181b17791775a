// Package model is for tests. For each agent whose sessions are trees it
// defines a second time, slowly and plainly, what the agent makes of a session,
// and compares the dialects with that on many random trees.
//
// The models are written from docs and real files, with maps and recursion, and
// share no code with the dialects. They cover valid values only: the dialects'
// own tests cover invalid ones.
package model
