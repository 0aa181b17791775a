// Package openai is a loop.Model that uses the chat completions API, by the library
// of its vendor. Many other servers have the same API; option.WithBaseURL names one.
//
// The library repeats requests that were refused for now, such as those with the
// status 429, after the time that the server asks for. option.WithMaxRetries says how
// often.
package openai
