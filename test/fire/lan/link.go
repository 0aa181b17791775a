package lan

import "time"

// A Link is what happens to what goes from one host to another. The zero Link
// delivers everything at once.
type Link struct {
	Loss   float64       // the part of the frames that is lost: 1 is all
	Delay  time.Duration // of each frame
	Jitter time.Duration // more delay, up to so much, for each frame anew
	Reset  bool          // nothing passes, and TCP's senders are told that nobody is there
}

// Cut is a Link that delivers nothing.
var Cut = Link{Loss: 1}
