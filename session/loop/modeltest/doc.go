// Package modeltest tests adapters between a loop and the API of a vendor: it has
// servers that answer as scripted, in each vendor's format, and tests that an adapter
// has to pass.
package modeltest
