package tokenstore

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sesslog/sesslog/api/access"
)

// storedToken is the stored form of a token.
type storedToken struct {
	access.Token
	Hash       string `json:"hash"`
	FormerHash string `json:"formerHash,omitempty"`
}

// secretPrefix identifies a token to people and secret scanners.
const secretPrefix = "sesslog_"

func newTokenID() string { return strings.ToLower(rand.Text()[:12]) }

// newSecret returns a random secret of about 130 bits. It cannot be guessed, so a
// plain digest of it is enough.
func newSecret() string { return rand.Text() }

// bearer returns the text that a request carries.
func bearer(id, secret string) string { return secretPrefix + id + "_" + secret }

// parse splits the text that a request carries. ok is false if it is not a token.
func parse(bearer string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(bearer, secretPrefix)
	if !ok || len(rest) > 256 {
		return "", "", false
	}
	id, secret, ok = strings.Cut(rest, "_")
	return id, secret, ok && isTokenID(id)
}

// isTokenID reports whether id is valid. An id becomes part of a key.
func isTokenID(id string) bool {
	return len(id) == 12 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// digest returns the stored form of a secret. It depends on the log's name and the
// token's id, so that it is useless if copied to another log or token.
func digest(log, id, secret string) string {
	sum := sha256.Sum256([]byte("sesslog token\x00" + log + "\x00" + id + "\x00" + secret))
	return hex.EncodeToString(sum[:])
}
