package testkit

import (
	"flag"
	"runtime"
	"strconv"
)

// MoreParallel lets four tests run at a time on each processor, unless -parallel says
// otherwise. TestMain calls it, after flag.Parse, in packages whose tests wait more than
// they work. With the race detector they work more, and it does nothing.
func MoreParallel() {
	n := runtime.GOMAXPROCS(0)
	if f := flag.Lookup("test.parallel"); !raceDetector && f.Value.String() == strconv.Itoa(n) {
		_ = f.Value.Set(strconv.Itoa(4 * n))
	}
}
