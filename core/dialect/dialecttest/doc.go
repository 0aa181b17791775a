// Package dialecttest holds what the tests of the dialects share: reading the
// corpus of real session files, and comparing what a dialect says of a file with
// what its agent said.
package dialecttest
