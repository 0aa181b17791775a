// Package acp is the dialect of sessions that an editor has with an agent by the Agent
// Client Protocol. No agent writes such sessions; package api/acpproxy does.
//
// A session is a header and lines that have messages of the protocol, byte for byte:
//
//	{"type":"acp-session","version":1,"id":"…","timestamp":"…","cwd":"/home/dev/site"}
//	{"type":"prompt","messages":[{"jsonrpc":"2.0","id":3,"method":"session/prompt",…}],"id":"…","timestamp":"…"}
//	{"type":"update","messages":[{"jsonrpc":"2.0","method":"session/update",…},…],"id":"…","timestamp":"…"}
//	{"type":"answer","messages":[{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}],"id":"…","timestamp":"…"}
//	{"type":"agent","agent":"opencode","session":"ses_…","host":"laptop","id":"…","timestamp":"…"}
//
// Prompts come from the editor, updates and answers from the agent. The chunks of one
// message are one line, unless the message takes long. A line of the type agent has no
// place in the tree: it says which session of which agent knows all that comes before
// it, and what follows until the next such line. Without a session, none does.
//
// [Replay] is what session/load shows an editor.
package acp
