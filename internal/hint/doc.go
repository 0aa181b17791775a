// Package hint attaches the next command to an error.
package hint
