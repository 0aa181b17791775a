// Package agent runs unmodified agents on a host with their sessions in the log.
//
//   - [Run] starts an agent in the user's terminal, finds the session files that it
//     writes, and copies their lines to the log while it runs.
//   - [Watch] follows the session files of all agents on a host.
//   - [Resume] claims a head of a session and writes the file from which the
//     session's agent continues it on this host.
//
// Package [github.com/sesslog/sesslog/agent/follow] copies files to the log;
// package [github.com/sesslog/sesslog/agent/process] handles processes.
//
// Errors carry the next command to type (package internal/hint). Those that wrap
// [ErrUsage] are about the caller's options.
package agent
