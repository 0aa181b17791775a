// Package prune chooses the sessions that a retention policy removes.
package prune
