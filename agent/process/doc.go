// Package process runs an agent in the user's terminal as if its parent were not
// there, and finds agents among the host's processes.
//
// The agent gets the parent's standard files and process group, so the shell sees
// one job: keys, a resize, a stop and a hang-up reach the agent from the terminal.
// The parent catches the signals that would end it and forwards those that the
// terminal did not send: an interrupt only in the background, a termination always.
// If the agent stops only itself, the parent stops, too (on Linux), because the
// shell waits for the parent. A terminal between the two would have to emulate
// everything that agents ask of one.
package process
