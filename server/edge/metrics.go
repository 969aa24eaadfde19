package edge

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Readiness is the answer of GET /readyz.
type Readiness struct {
	Policies []PolicyAge `json:"policies"`
}

// PolicyAge says which policy decides for an experiment.
type PolicyAge struct {
	Experiment string `json:"experiment"`
	Version    uint64 `json:"version"`
	// AgeSeconds is how long ago the service last said that it is in force.
	AgeSeconds float64 `json:"age_seconds"`
}

func (s *Service) ages() (out []PolicyAge) {
	for _, name := range s.names {
		e := s.experiments[name]
		age := time.Since(e.Confirmed()).Seconds()
		out = append(out, PolicyAge{Experiment: name, Version: e.Policy().Version, AgeSeconds: max(age, 0)})
	}
	return out
}

func (s *Service) readiness() any { return Readiness{s.ages()} }

// collector collects the metrics when they are requested.
type collector struct{ service *Service }

var (
	ageDesc = prometheus.NewDesc("noregret_edge_policy_age_seconds",
		"Time since the service last said which policy is in force.", []string{"experiment"}, nil)
	versionDesc = prometheus.NewDesc("noregret_edge_policy_version", "Version of the policy that decides.",
		[]string{"experiment"}, nil)
	decisionsDesc = prometheus.NewDesc("noregret_edge_decisions_total", "Decisions made.", nil, nil)
	unitsDesc     = prometheus.NewDesc("noregret_edge_units_total", "Units reported, by what became of them.",
		[]string{"status"}, nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{ageDesc, versionDesc, decisionsDesc, unitsDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	metric := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	for _, a := range c.service.ages() {
		metric(ageDesc, prometheus.GaugeValue, a.AgeSeconds, a.Experiment)
		metric(versionDesc, prometheus.GaugeValue, float64(a.Version), a.Experiment)
	}
	n := &c.service.counts
	metric(decisionsDesc, prometheus.CounterValue, float64(n.decisions.Load()))
	metric(unitsDesc, prometheus.CounterValue, float64(n.accepted.Load()), "accepted")
	metric(unitsDesc, prometheus.CounterValue, float64(n.duplicate.Load()), "duplicate")
	metric(unitsDesc, prometheus.CounterValue, float64(n.rejected.Load()), "rejected")
}
