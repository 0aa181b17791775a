//go:build !linux

package cli

// onHugePages does nothing where there is no such request.
func onHugePages([]byte) {}
