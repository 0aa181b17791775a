package jsonl

import (
	"slices"

	"github.com/sesslog/sesslog/core"
)

// Spoken reports whether one of es is a message of one of the roles.
func Spoken(es []core.Entry, roles ...string) bool {
	return slices.ContainsFunc(es, func(e core.Entry) bool {
		if e.Type != "message" {
			return false
		}
		o, err := Object(e)
		if err != nil {
			return false
		}
		m, ok := Nested(o.Get("message"))
		if !ok {
			return false
		}
		role, _ := m.Get("role").Text()
		return slices.Contains(roles, role)
	})
}
