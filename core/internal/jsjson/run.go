package jsjson

import (
	"encoding/binary"
	"math/bits"
)

// A string is examined eight bytes at a time. The first byte found this way is
// always right; later ones may not be, because a borrow propagates upward from
// a byte that was found.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stops marks the high bits of the bytes in w that end a run of characters in a
// string: control characters, quotes and backslashes.
func stops(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((w-ones*0x20)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// plainLen is how many bytes at the beginning of b are ASCII and need no escape
// in a string.
func plainLen(b []byte) int {
	n := 0
	for ; n+8 <= len(b); n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		if m := stops(w) | w&highs; m != 0 {
			return n + bits.TrailingZeros64(m)/8
		}
	}
	for n < len(b) && plain[b[n]] {
		n++
	}
	return n
}
