// Package access defines who may do what to a log: scopes, grants, limits, and the
// store of a log's tokens.
//
// A token is an id and a secret. The store keeps the id, the grant and a digest of
// the secret in a JetStream bucket of the log, so all nodes learn of a new, rotated
// or revoked token within moments. The secret is returned only when it is created.
package access
