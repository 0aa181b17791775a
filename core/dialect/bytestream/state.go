package bytestream

import (
	"sort"
	"time"

	"github.com/sesslog/sesslog/core"
)

// A State is what the lines of a stream come to. The zero State is that of a stream
// without lines. It grows with the session: call Add with its entries again and again.
type State struct {
	Tail     int64 // the offset after the last append
	Closed   bool
	ClosedBy *Producer // the request that closed it, nil if that named no producer
	Deleted  bool
	Ended    time.Time // when it was deleted
	Seq      *string   // of the last append that had one
	// Producers are the last accepted requests, by the producer's id.
	Producers map[string]Producer
	Forks     []string // sessions of the streams that were made from this one
	Used      time.Time

	ends []int64 // the offset after each entry
	size int64   // of Producers and Forks, about
}

// Size returns about how many bytes the state takes.
func (s *State) Size() int64 { return int64(8*cap(s.ends)) + s.size }

// memberSize is about how much a producer or a fork takes besides its texts.
const memberSize = 150

// Add folds the entries of es that were not folded yet.
func (s *State) Add(es []core.Entry) {
	for i := len(s.ends); i < len(es); i++ {
		if l, err := ReadLine(es[i].Line); err == nil {
			s.add(&l)
		}
		s.ends = append(s.ends, s.Tail)
	}
}

// maxTail is the largest offset that has 16 digits.
const maxTail = 9999999999999999

// Folded returns how many entries were folded.
func (s *State) Folded() int { return len(s.ends) }

func (s *State) add(l *Line) {
	switch l.Type {
	case TypeAppend, TypeClose:
		s.Tail = min(s.Tail+min(l.Length, maxTail), maxTail)
	case TypeFork:
		s.Forks = append(s.Forks, l.Fork)
		s.size += memberSize + int64(len(l.Fork))
		return
	case TypeDelete:
		s.Deleted = true
		s.Ended, _ = time.Parse(time.RFC3339, l.Time)
		return
	case TypeTouch:
	default:
		return
	}
	if at, err := time.Parse(time.RFC3339, l.Time); err == nil && at.After(s.Used) {
		s.Used = at
	}
	if l.Seq != nil {
		s.Seq = l.Seq
	}
	if l.Producer != nil {
		if s.Producers == nil {
			s.Producers = map[string]Producer{}
		}
		if _, known := s.Producers[l.Producer.ID]; !known {
			s.size += memberSize + int64(len(l.Producer.ID))
		}
		s.Producers[l.Producer.ID] = *l.Producer
	}
	if l.Type == TypeClose || l.Closed {
		s.Closed, s.ClosedBy = true, l.Producer
	}
}

// After returns the index of the first entry that ends after an offset, or Folded if
// there is none.
func (s *State) After(offset int64) int {
	return sort.Search(len(s.ends), func(i int) bool { return s.ends[i] > offset })
}

// End returns the offset after entry i.
func (s *State) End(i int) int64 { return s.ends[i] }

// IsBoundary reports whether an append ends at an offset, or the stream begins there.
func (s *State) IsBoundary(offset int64) bool {
	i := s.After(offset)
	return offset == 0 || i > 0 && s.ends[i-1] == offset
}
