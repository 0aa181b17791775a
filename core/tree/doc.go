// Package tree answers questions about a session's tree of entries, and makes
// entries, in the same way for all dialects.
package tree
