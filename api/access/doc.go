// Package access defines who may do what to a log: scopes, grants, limits and
// tokens. Package tokenstore stores tokens.
package access
