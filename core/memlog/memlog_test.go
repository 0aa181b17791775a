package memlog_test

import (
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/memlog"
)

func TestLog(t *testing.T) {
	logtest.Test(t, func(*testing.T) core.Log { return memlog.New("test") })
}
