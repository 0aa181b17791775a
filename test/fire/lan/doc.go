// Package lan is a network for tests: hosts, each with an address, joined by a switch that
// can lose, delay and reorder frames.
//
// A host is a network namespace. Its cable is a TAP device whose other end belongs to the
// switch in this process. The switch draws the fate of every frame from a seeded source: a
// partition loses all of them, in one or both directions; a variable delay reorders them.
// The kernel only needs /dev/net/tun and the ip command: no netem, no filter, no bridge.
//
// It works on Linux, as root. Enter runs a command in separate network and mount
// namespaces, in which New creates the hosts. When that process ends, for any reason, the
// kernel removes them. The machine's network is never changed.
package lan
