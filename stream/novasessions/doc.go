// Package novasessions holds Nova's sessions open as Nova's own SessionManager
// does: made or resumed by id, given tasks, forked, cleaned up. Every change is
// one durable append before the call returns, so nothing waits for a later
// save. Changes are additions that core/nova folds: goroutines and nodes that
// work on one session at the same time lose none of them.
//
// What it does otherwise than Nova: a cleaned-up session is in the trash of the
// log with who, when and why, from where sessctl rm --undo takes it out; forks
// and tasks are saved at once; a fork counts in its parent.
package novasessions
