// Package retry decides how long to wait before the next attempt. Pauses are
// random, so that clients that wait for the same server do not return together; a
// simulation can make them reproducible with Seed.
package retry
