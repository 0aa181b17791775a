// Package interop lets the agents themselves judge how this project handles their
// sessions: the published pi 0.73.1, pi 1.5.2 and omp 18.2.3. It has only tests.
//
// A judge is a process of an agent's own code. It reads the files that we export,
// reports what it finds in them, and appends to them as the agent does. Its report must
// agree with ours, and its lines must be imported and exported again byte-identical. In
// other tests the agents' commands continue sessions of another host, against a
// scripted model. Claude Code 2.1.197, Codex 0.169.0 and opencode 1.18.33 work on one
// host under sessctl run and resume on another: their first requests must be those of
// the first host, in each case of a table, also if the first host's files are imported
// instead. They also continue each other's sessions, and Claude Code judges what
// sessctl rescue repairs.
//
// The agents are installed with npm, without running their scripts, into a folder of
// the user's cache. Without node, npm or the packages the tests are skipped with a
// reason. Sessions are random; a failure names the seed that repeats it:
//
//	go test ./test/interop -run TestAgentsRead -seed 4711
//
// With -long each test runs with each agent, and with many more sessions. Otherwise
// pi 1.5.2 stands for all of them where they are handled alike: it starts fastest, and
// omp is a download of half a gigabyte.
//
// omp is 18.2.3, the newest version of which all parts are published. For 18.3.4, whose
// rules are implemented here, no native code is published, and it lacks a function in
// that of other versions; docs/DIALECTS.md has its messages. Only pi 1.5.2 is tested in
// a terminal.
package interop
