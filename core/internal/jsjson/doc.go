// Package jsjson reads and writes JSON the way JavaScript does.
//
// Agents written in JavaScript store their sessions as the text that
// JSON.stringify returns, and answer questions about them with JSON.stringify
// of what JSON.parse read. Append is these two calls in one. Object is a parsed
// object whose members can be changed as JavaScript changes them.
//
// The rules for the text:
//
//   - Numbers are doubles in their shortest form: 1.0 becomes 1, 1e400 becomes
//     null, 12345678901234567890 becomes 12345678901234567000.
//   - If a name occurs twice, the last value counts, at the first position.
//     Names that are array indices come first, in ascending order.
//   - Invalid UTF-8 becomes U+FFFD, one for each maximal subpart, as in the
//     WHATWG decoder. A lone surrogate stays an escape.
//   - Only quotes, backslashes, control characters and lone surrogates are
//     escaped: not "<", not U+2028.
//
// The package accepts exactly the JSON grammar, nested at most MaxDepth deep.
// No input makes it panic, and every function is linear in the length of its
// input.
package jsjson
