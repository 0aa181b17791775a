package engine

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// An Observer is told what becomes of writes, so that somebody can count them.
// Its functions are called on the way of the write: they must not block, and may
// be called from several goroutines. A nil one is not called.
type Observer struct {
	// Appended is told of each Append that was answered, and how long that took.
	// stored is how many of its lines were not there before.
	Appended func(took time.Duration, stored int, err error)
	// Claimed is told of each Claim that was answered; former is the one that it
	// ended, nil for none.
	Claimed func(former *core.Claim, err error)
	// Passed is told each time that another record came before one of this
	// process, which is then checked and made anew. Its caller may never hear of it.
	LostRace func()
}

func (o Observer) appended(began time.Time, rec *Receipt, err *error) {
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
