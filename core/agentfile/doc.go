// Package agentfile compares the file that an agent keeps of a session with the
// session in the log.
package agentfile
