// Package pki makes certificate authorities and certificates for tests, as files
// and as what Go programs use. They are good for the loopback interface and for
// a day.
package pki
