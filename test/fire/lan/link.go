package lan

import "time"

// A Link is the behaviour of one direction between two hosts. The zero Link delivers
// everything at once.
type Link struct {
	Loss   float64       // fraction of lost frames: 1 is all
	Delay  time.Duration // of each frame
	Jitter time.Duration // maximum of an additional random delay of each frame
	Reset  bool          // deliver nothing, and answer TCP segments with a reset
}

// Cut is a Link that delivers nothing.
var Cut = Link{Loss: 1}
