// Package logtest holds every core.Log to the promises of that interface. Test
// is the suite; Faulty makes a log misbehave in all the ways that a real one is
// allowed to.
package logtest
