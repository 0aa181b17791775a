package engine

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// Observer is told the results of writes, for metrics. Its functions must not block
// and may be called concurrently. A nil function is not called.
type Observer struct {
	// Appended is called after each Append. stored is how many of its lines are new.
	Appended func(took time.Duration, stored int, err error)
	// Claimed is called after each Claim. former is the claim that it ended, or nil.
	Claimed func(former *core.Claim, err error)
	// LostRace is called each time another record came first and a record of this process
	// is built again, even if its caller succeeds.
	LostRace func()
}

func (o Observer) appended(began time.Time, rec *core.Receipt, err *error) {
	if o.Appended != nil {
		o.Appended(time.Since(began), rec.Stored, *err)
	}
}

func (o Observer) claimed(former **core.Claim, err *error) {
	if o.Claimed != nil {
		o.Claimed(*former, *err)
	}
}

func (o Observer) lostRace() {
	if o.LostRace != nil {
		o.LostRace()
	}
}
