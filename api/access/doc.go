// Package access defines who may do what to a log: scopes, grants, limits, and the
// store of a log's tokens.
//
// A token is an id and a secret. The store keeps the id, the grant and a digest of
// the secret in a JetStream bucket of the log, so all nodes learn of a new, rotated
// or revoked token within moments, also nodes that start later. The secret is
// returned only when it is created.
//
// Nodes follow the bucket and check tokens in memory, so no request waits for a
// broker. They read the whole bucket again every minute, in case the watch failed
// silently. A node that cannot reach the bucket continues with what it knows.
//
// A secret has 130 random bits, so a plain SHA-256 is enough. Comparison takes
// constant time, and an unknown token is answered like a wrong secret. A token that
// was stored by a NATS server's own reply, rather than by a node, is rejected: NATS
// lets anyone with read permission choose where a reply goes.
package access
