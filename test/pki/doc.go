// Package pki creates certificate authorities and certificates for tests, as files
// and as TLS configurations. They are valid for the loopback interface and for a day.
package pki
