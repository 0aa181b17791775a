// Package embeddedtest runs real NATS JetStream servers for the tests of other
// packages. Every server has a temporary directory, listens on loopback only, syncs
// every write as in production, and is closed when its test ends.
package embeddedtest
