// Package access holds who may do what to a log: scopes, tokens and how much of
// a node each may take, and the book of a log's tokens.
//
// A token is an id and a secret. The book keeps the id, what the token may do,
// and a digest of the secret, in a bucket of the log; so every node of the log
// knows of a new, rotated or revoked token as soon as the bucket's servers tell
// it, and no file has to be carried around. The secret itself is shown to whoever
// made the token, once, and is nowhere else.
package access
