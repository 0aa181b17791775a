//go:build !linux

package process

// stopTogether does nothing on this platform: if the agent stops only itself,
// this process keeps running.
func (p *Process) stopTogether() {}
