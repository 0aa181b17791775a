package main

import (
	"os"
	"runtime"
	"sync"
)

// spareProcessor lets one more goroutine run than there are processors, unless GOMAXPROCS
// is set. The one that flushes the log waits for the disk most of the time under load, and
// Go gives its processor to another one only after a while.
var spareProcessor = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})
