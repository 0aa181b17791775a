// Package jsjson reads and writes JSON the way JavaScript does.
//
// Agents written in JavaScript keep their sessions as the text that
// JSON.stringify gives, and what they say of a session is JSON.stringify of
// what JSON.parse read. Append is those two calls in one; Object is a parsed
// object whose members can be changed as JavaScript changes them.
//
// What that means for the text:
//
//   - Numbers are doubles in their shortest form: 1.0 is 1, 1e400 is null,
//     12345678901234567890 is 12345678901234567000.
//   - Of a name given twice the last value counts, at the first place. Names
//     that are array indices come first, in ascending order.
//   - Bytes that are no UTF-8 become U+FFFD, one for each maximal subpart, as
//     the WHATWG decoder has it. A lone surrogate stays an escape.
//   - Nothing is escaped but quotes, backslashes, control characters and lone
//     surrogates: not "<", not U+2028.
//
// The package accepts exactly the JSON grammar, nested at most MaxDepth deep.
// No input makes it panic, and all of it is linear in the length of its input.
package jsjson
