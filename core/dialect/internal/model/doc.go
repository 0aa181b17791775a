// Package model is for tests: for each agent whose sessions are trees it says a
// second time, slowly and plainly, what the agent makes of a session, and holds
// the dialects to that on many random trees.
//
// The models are written from docs and real files, with maps and recursion, and
// share no code with the dialects. They speak of valid values only: what is to
// become of odd ones, the dialects' own tests say.
package model
