// Package claude reads and writes sessions of Claude Code, by the rules of its
// version 2.1.197.
//
// The agent keeps a session in projects/<directory>/<id>.jsonl and companions in
// projects/<directory>/<id>/: transcripts of sub-agents and outputs of tools. In
// the log the session begins with a header of ours. A line of the main file that
// has a uuid of its own is an entry as it is; all other lines, and the
// companions, are in envelopes. So every file is restored byte for byte, with
// lines of any kind, known or not.
//
// The place of an entry follows parentUuid. At a compaction, whose parentUuid is
// null, it follows logicalParentUuid, so that a path has the whole history; a
// context begins at the compaction, as the agent's does. Lines of sub-agents in
// the main file have no place in the tree.
//
// A context has the messages of the request that the agent sends if it resumes
// the session, without the next prompt and without what it reads from the host
// at that time: CLAUDE.md, the date, hooks. Attachments are in messages of the
// role system.
package claude
