// Package snapshot packs, unpacks and composes the objects of snapshots. It does no
// I/O.
package snapshot
