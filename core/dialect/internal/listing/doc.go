// Package listing summarizes a session for a list of sessions.
package listing
