package api

// HeaderDryRun is a header that, where it is "true", has a call that writes to sessions be checked
// and answered, and nothing stored. A call that has no dry run is refused. Below
// /v1/dry-run/ a call has it by itself.
const HeaderDryRun = "Sess-Dry-Run"
