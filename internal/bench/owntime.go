package bench

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// cpuMetric is the processor time of a process, in seconds.
const cpuMetric = "process_cpu_seconds_total"

// ownTime returns the processor time of this process so far, in seconds.
func ownTime() (float64, error) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := reg.Gather()
	for _, f := range families {
		if f.GetName() == cpuMetric {
			return f.GetMetric()[0].GetCounter().GetValue(), nil
		}
	}
	return 0, errors.Join(errors.New("the processor time of this process is unknown"), err)
}
