// Package anthropic is a loop.Model that uses the messages API, by the library of
// its vendor. option.WithBaseURL names another server that has the same API.
//
// The library repeats requests that were refused for now, such as those with the
// status 429, after the time that the server asks for. option.WithMaxRetries says how
// often.
package anthropic
