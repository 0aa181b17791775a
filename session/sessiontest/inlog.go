package sessiontest

// inLog are the promises about being kept.
var inLog = []test{}
