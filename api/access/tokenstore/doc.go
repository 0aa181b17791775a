// Package tokenstore stores the access tokens of a log.
//
// A token is an id and a secret. The store keeps the id, the grant and a digest of
// the secret in a JetStream bucket of the log, so all nodes learn of a new, rotated
// or revoked token within moments. The secret is returned only when it is created.
package tokenstore
