// Package lan is a network for tests: hosts with an address each, joined by a
// switch that can be told to lose, delay and reorder what goes from one to the
// other.
//
// A host is a network namespace, and its cable a TAP device whose other end the
// switch holds in this process. So every frame passes through here, where its
// fate is drawn from a seeded source: a partition loses all, in both directions
// or in one; a delay that varies lets later frames overtake earlier ones.
// Nothing but /dev/net/tun and the ip command is asked of the kernel: no netem,
// no filter, no bridge.
//
// It works on Linux, as root. Enter has a command run in a network and a mount
// namespace of its own, in which New makes the hosts: when that process ends,
// whatever its end, the kernel takes all of it away, and the network of the
// machine was never touched.
package lan
