// Package streams has the readers that the adapters of blobstore share: they check
// the size of a source, and bind a body to a context.
package streams
