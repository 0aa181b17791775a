package api

// headerPrefer is where a caller says how long it will wait: "wait=5", in whole
// seconds, as RFC 7240 has it.
const HeaderPrefer = "Prefer"
