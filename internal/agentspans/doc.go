// Package agentspans describes a stored session as spans with the semantic conventions
// of OpenTelemetry for generative AI, version 1.41: invoke_agent for each turn, which is
// a trace, and below it chat for each answer and execute_tool for each call.
//
// A span ends when its entry was written. It begins when the one before it ended: agents
// do not store when a request began.
package agentspans
