package report

// Losses counts what the log was found to have lost, since this process began.
// Each is a fault of the servers or their disks that the operator should know
// of.
type Losses struct {
	Rewritten  uint64 `json:"rewritten"`  // records that were stored a second time
	Rescued    uint64 `json:"rescued"`    // lines that were put on a separate head
	Backfilled uint64 `json:"backfilled"` // times a record came from the leader, because the copy that was read lacks it
	// Pending is how many lines sessions in the trash lack. This node alone knows
	// them, until it ends; a session gets them when it is taken out of the trash.
	Pending int64 `json:"pending"`
}
