package main

import (
	"github.com/sesslog/sesslog/metrics"
	"github.com/sesslog/sesslog/stream/embedded"
)

// metrics is what is asked of the connection when somebody scrapes.
func (b *broker) metrics() metrics.Conn {
	return metrics.Conn{Up: b.conn.IsConnected, Reconnects: func() uint64 { return b.conn.Stats().Reconnects }}
}

// figures asks the embedded server how it is; nil where there is none.
func (b *broker) figures() func() embedded.Figures {
	if b.server == nil {
		return nil
	}
	return b.server.Figures
}
