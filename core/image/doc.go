// Package image takes images out of agents' lines, and restores them exactly.
//
// Agents write screenshots into their lines as base64. Externalize takes those of
// 1,024 characters and more out: the bytes become a blob, the line keeps
// "blob:sha256:…", and Inline puts the base64 back. Only base64 that is restored
// exactly is taken out. A text of the agent's that begins with "blob:" is kept as
// "blob:keep:…", so the two cannot be confused.
package image
