package config

import (
	"encoding/base64"
	"errors"
	"strings"
)

// Key returns the key of the secret.
func (n Notices) Key() ([]byte, error) {
	encoded, ok := strings.CutPrefix(n.Secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("use whsec_ and 24 to 64 random bytes in base64, such as from: echo whsec_$(openssl rand -base64 32)")
	}
	return key, nil
}
