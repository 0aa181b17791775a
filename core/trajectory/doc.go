// Package trajectory puts one path of a session into steps: what users said, what each
// answer of a model thought, said and called, and what the calls returned. It names no
// dialect. Steps can be written in the Agent Trajectory Interchange Format (ATIF).
//
// Several entries of one answer make one step, and a result is with its call. Usage is
// that of package usage: each answer counts once, in its step.
package trajectory
