// Package memlog keeps a log in memory: the rules of core.Log as code. Tests
// compare real logs with it and inject faults into it. Its content ends with the
// process, so no program of this project uses it.
package memlog
