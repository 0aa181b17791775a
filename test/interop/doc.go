// Package interop has the agents themselves judge what this project makes of
// their sessions: pi 0.73.1, pi 1.5.2 and omp 18.2.3, as they are published.
// There is nothing in it but tests.
//
// A judge is one process of an agent's own code that reads the files we export
// and says what it sees in them, and appends to them as the agent does. It must
// see what we see, and what it writes must come into the log and out again byte
// for byte. In other tests the agents' commands go on with sessions that were
// written elsewhere, against a scripted model.
//
// The agents come through npm, with no script of theirs run, into a folder of
// the user's cache; without node, npm or the packages the tests are skipped, and
// say why. Sessions are made by chance; a failure names the seed that makes it
// again:
//
//	go test ./test/interop -run TestAgentsSee -seed 4711
//
// With -long each test is run with each agent, and many more sessions are made.
// Otherwise pi 1.5.2 stands for all of them where they are handled alike: it
// starts the soonest, and omp is half a gigabyte to fetch.
//
// omp is 18.2.3, the newest of its versions of which all parts are published.
// 18.3.4, by whose rules its sessions are read, finds no native code of its
// version, and lacks a function in any that there is: docs/DIALECTS.md has what it
// says. In a terminal only pi 1.5.2 is tried.
package interop
