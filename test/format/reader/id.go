package reader

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
)

var sessionName = regexp.MustCompile(`^[A-Za-z0-9_-]{8,128}$`)

// SessionID is the name in the log of the session that an agent calls agentID.
func SessionID(dialect, agentID string) string {
	if sessionName.MatchString(agentID) {
		return agentID
	}
	sum := sha256.Sum256([]byte(dialect + "\x00" + agentID))
	return "x-" + hex.EncodeToString(sum[:16])
}

// LineID is the id of a line that came without one in a request with an
// idempotency key, as line number i from 0.
func LineID(dialect, session, key string, i int) string {
	sum := sha256.Sum256([]byte(session + "\x00" + key + "\x00" + strconv.Itoa(i)))
	switch dialect {
	case "nova":
		return hex.EncodeToString(sum[:8])
	case "openrath":
		return uuid(sum[:16])
	}
	return hex.EncodeToString(sum[:4])
}

// uuid is b as a UUID of version 4.
func uuid(b []byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
