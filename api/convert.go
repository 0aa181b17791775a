package api

// HeaderLost names what a conversion could not carry over: a JSON list of
// {"what","count"}, the most frequent first, at most maxLost of them.
const HeaderLost = "Sess-Lost"
