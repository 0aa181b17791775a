// Package jsonl holds what agents that write JSON lines have in common: how a
// file falls into lines, how a line is read as an entry, and how a line of ours
// is completed. It does not depend on an agent.
package jsonl
