package server

import (
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/alert"
)

// metrics holds the metrics that /metrics serves.
type metrics struct {
	*httpMetrics
	decisions *prometheus.CounterVec
	items     *prometheus.CounterVec
	snapshots prometheus.Counter
	unsaved   prometheus.Counter

	mu sync.Mutex
	by map[string]*counters
}

// counters holds the counters of one experiment.
type counters struct {
	decisions prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		httpMetrics: newHTTPMetrics(),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "noregret_decisions_total", Help: "Units decided for, by experiment.",
		}, []string{"experiment"}),
		items: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "noregret_items_total",
			Help: "Items of feedback, exposures and aggregates, by kind and fate, but no feedback for " +
				"private experiments.",
		}, []string{"kind", "status"}),
		snapshots: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "noregret_snapshots_total",
			Help: "Snapshots of the state saved.",
		}),
		unsaved: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "noregret_snapshot_failures_total",
			Help: "Snapshots of the state that could not be saved, for example without room on the disk.",
		}),
		by: map[string]*counters{},
	}
	m.registry.MustRegister(m.decisions, m.items, m.snapshots, m.unsaved)
	return m
}

// of returns the counters of an experiment.
func (m *metrics) of(name string) *counters {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by[name] == nil {
		m.by[name] = &counters{m.decisions.WithLabelValues(name)}
	}
	return m.by[name]
}

// forget drops the counters of an experiment.
func (m *metrics) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, name)
	m.decisions.DeleteLabelValues(name)
}

// count counts items by their outcome, except those in secret places.
func (m *metrics) count(kind string, items []api.ItemResult, secret map[int]bool) {
	statuses := [...]api.ItemStatus{api.Accepted, api.Duplicate, api.Late, api.Rejected}
	var n [len(statuses)]int
	for i := range items {
		if k := slices.Index(statuses[:], items[i].Status); k >= 0 && !secret[i] {
			n[k]++
		}
	}
	for k, status := range statuses {
		if n[k] > 0 {
			m.items.WithLabelValues(kind, string(status)).Add(float64(n[k]))
		}
	}
}

// serve answers with the metrics; unless keep is nil, with those alone that have the label of an
// experiment which keep returns true for. If public is set, only those of publicMetrics are shown.
func (m *metrics) serve(w http.ResponseWriter, r *http.Request, keep func(name string) bool, public bool) error {
	var from prometheus.Gatherer = m.registry
	if keep != nil || public {
		from = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			all, err := m.registry.Gather()
			if public {
				all = slices.DeleteFunc(all, func(f *dto.MetricFamily) bool {
					return !slices.Contains(publicMetrics, f.GetName())
				})
			}
			if keep != nil {
				all = ofExperiments(all, keep)
			}
			return all, err
		})
	}
	return m.answer(w, r, from)
}

// ofExperiments returns the metrics that have the label of an experiment which keep returns true
// for. It changes the families.
func ofExperiments(families []*dto.MetricFamily, keep func(name string) bool) (out []*dto.MetricFamily) {
	foreign := func(m *dto.Metric) bool {
		return !slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool {
			return l.GetName() == "experiment" && keep(l.GetValue())
		})
	}
	for _, f := range families {
		if f.Metric = slices.DeleteFunc(f.Metric, foreign); len(f.Metric) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// publicMetrics are those that do not move with the feedback of private experiments, also not by
// the work that it makes: all others are for the role admin where there is a private experiment.
var publicMetrics = []string{
	"noregret_build_info", "noregret_policy_version", "noregret_decisions_total",
	"noregret_open_units", "noregret_orphan_values_total", "noregret_sample_ratio_mismatch",
	"noregret_guardrail_state", "noregret_exposures_total", "noregret_feedback_total", "noregret_refused_share",
	"noregret_alerts_active", "noregret_alerts_waiting", "noregret_alerts_sent_total",
	"noregret_alerts_failures_total", "noregret_alerts_dropped_total", "noregret_log_failed",
	"noregret_log_failures_total", "noregret_log_reopens_total", "noregret_clock_step_seconds",
	"noregret_clock_steps_total", "noregret_open_bytes_limit", "noregret_disk_bytes",
	"noregret_node_leads", "noregret_node_term", "noregret_node_age_seconds",
}

// stateCollector collects gauges from the log and the state when metrics are requested.
type stateCollector struct {
	log    eventlog.Log
	writer *writer
	live   *liveState
	intake *intake

	connections *connectionCounts
	clock       *steadyClock
	storage     *storage
	alerts      *alert.Sender
	failures    *access.Failures
}

var (
	positionDesc = prometheus.NewDesc("noregret_log_last_position", "Position of the last event in the log.", nil, nil)
	snapshotDesc = prometheus.NewDesc("noregret_log_snapshot_position", "Position of the latest snapshot.", nil, nil)
	alertsDesc   = prometheus.NewDesc("noregret_alerts_active", "What is wrong and not resolved.", nil, nil)
	unsentDesc   = prometheus.NewDesc("noregret_alerts_waiting", "Alerts that the webhook has not taken yet.", nil, nil)
	sentDesc     = prometheus.NewDesc("noregret_alerts_sent_total", "Alerts that the webhook has taken.", nil, nil)
	unableDesc   = prometheus.NewDesc("noregret_alerts_failures_total",
		"Attempts to send an alert that have failed.", nil, nil)
	droppedDesc = prometheus.NewDesc("noregret_alerts_dropped_total",
		"Alerts that were dropped because too many waited.", nil, nil)
	logBytesDesc = prometheus.NewDesc("noregret_log_bytes", "Bytes of the log's files, with its snapshots.", nil, nil)
	freeDesc     = prometheus.NewDesc("noregret_disk_free_bytes",
		"Bytes that the service may still write to the disk of the log.", nil, nil)
	diskDesc = prometheus.NewDesc("noregret_disk_bytes", "Size of the disk of the log.", nil, nil)
	ageDesc  = prometheus.NewDesc("noregret_log_snapshot_age_seconds",
		"Time since the latest snapshot was saved.", nil, nil)
	loginsDesc = prometheus.NewDesc("noregret_failed_logins_total",
		"Requests and forms with an access token that is not known or may not log in.", nil, nil)
	groupsDesc = prometheus.NewDesc("noregret_log_groups_total",
		"Groups of events made durable, each with one flush of the disk.", nil, nil)
	queueDesc  = prometheus.NewDesc("noregret_queue_length", "Commands that wait for the writer.", nil, nil)
	failedDesc = prometheus.NewDesc("noregret_log_failed",
		"1 while the log takes no events because it has failed or the disk is full or read-only.", nil, nil)
	failuresDesc = prometheus.NewDesc("noregret_log_failures_total", "Outages of the log.", nil, nil)
	reopensDesc  = prometheus.NewDesc("noregret_log_reopens_total",
		"Attempts to open a failed log again on a disk that works.", nil, nil)
	versionDesc = prometheus.NewDesc("noregret_policy_version", "Version of an experiment's policy.",
		[]string{"experiment"}, nil)
	openDesc = prometheus.NewDesc("noregret_open_units", "Units that wait for feedback.", []string{"experiment"},
		nil)
	orphanDesc = prometheus.NewDesc("noregret_orphan_values_total",
		"Values of units whose exposure was never reported.", []string{"experiment"}, nil)
	ratioDesc = prometheus.NewDesc("noregret_sample_ratio_mismatch",
		"1 when units are not exposed to the arms as decided.", []string{"experiment"}, nil)
	guardDesc = prometheus.NewDesc("noregret_guardrail_state",
		"0 unknown, 1 ok or held, 2 watch, 3 breached or rolled back.",
		[]string{"experiment", "guardrail", "metric"}, nil)
	exposureDesc = prometheus.NewDesc("noregret_exposures_total",
		"Exposures by experiment and fate, since it was created.", []string{"experiment", "status"}, nil)
	refusedDesc = prometheus.NewDesc("noregret_refused_share",
		"Share of items that were rejected or late within the last one to two minutes.", []string{"experiment", "kind"},
		nil)
	strayDesc = prometheus.NewDesc("noregret_sender_refused_share",
		"Share of a sender's items that were rejected and count for no experiment, within the last one to two "+
			"minutes, by access token.", []string{"token", "kind"}, nil)
	waitingDesc = prometheus.NewDesc("noregret_open_bytes",
		"Bytes that the units that wait for feedback need, in memory and on the disk.", nil, nil)
	clockStepDesc = prometheus.NewDesc("noregret_clock_step_seconds",
		"By how much the machine's clock is ahead of the service's time, after a step.", nil, nil)
	clockStepsDesc  = prometheus.NewDesc("noregret_clock_steps_total", "Steps of the machine's clock.", nil, nil)
	connectionsDesc = prometheus.NewDesc("noregret_connections", "Open connections.", nil, nil)
	turnedAwayDesc  = prometheus.NewDesc("noregret_connections_refused_total",
		"Connections closed because too many were open.", nil, nil)
	memoryDesc = prometheus.NewDesc("noregret_open_bytes_limit",
		"Bound on the bytes of the units that wait for feedback, in memory and on the disk.", nil, nil)
	residentDesc = prometheus.NewDesc("noregret_open_memory_bytes",
		"Memory of the units that wait for feedback.", nil, nil)
	spilledDesc = prometheus.NewDesc("noregret_open_disk_bytes",
		"Bytes in the file of the units that wait for feedback.", nil, nil)
	feedbackDesc = prometheus.NewDesc("noregret_feedback_total",
		"Items of feedback by experiment and fate, since it was created.", []string{"experiment", "status"}, nil)
)

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		positionDesc, snapshotDesc, groupsDesc, queueDesc, failedDesc, failuresDesc, reopensDesc, versionDesc,
		openDesc, orphanDesc, ratioDesc, guardDesc, feedbackDesc,
		exposureDesc, refusedDesc, strayDesc, waitingDesc, memoryDesc, residentDesc, spilledDesc,
		connectionsDesc, turnedAwayDesc, clockStepDesc,
		alertsDesc, unsentDesc, sentDesc, unableDesc, droppedDesc, loginsDesc,
		clockStepsDesc, logBytesDesc, freeDesc, diskDesc, ageDesc, leadsDesc, termDesc, nodeAgeDesc, lagDesc,
	} {
		ch <- d
	}
}

// metricSink takes the metrics of one request.
type metricSink chan<- prometheus.Metric

func (s metricSink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (s metricSink) counter(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(ch chan<- prometheus.Metric) {
	to := metricSink(ch)
	c.collectLog(to)
	ahead, steps := c.clock.ahead()
	to.gauge(clockStepDesc, ahead.Seconds())
	to.counter(clockStepsDesc, float64(steps))
	c.connections.collect(to)
	c.writer.node.collect(to)
	to.gauge(waitingDesc, float64(c.intake.waiting.Load()))
	to.gauge(memoryDesc, float64(c.intake.memory+c.intake.disk))
	if c.intake.pool != nil {
		s := c.intake.pool.Stats()
		to.gauge(residentDesc, float64(s.Memory))
		to.gauge(spilledDesc, float64(s.File))
	}
	c.intake.refused(func(key flowKey, share float64) {
		if key.experiment == "" {
			to.gauge(strayDesc, share, key.sender, key.kind)
			return
		}
		to.gauge(refusedDesc, share, key.experiment, key.kind)
	})
	active, waiting, sent, failures, dropped := c.alerts.Counts()
	to.gauge(alertsDesc, float64(active))
	to.gauge(unsentDesc, float64(waiting))
	to.counter(sentDesc, float64(sent))
	to.counter(unableDesc, float64(failures))
	to.counter(droppedDesc, float64(dropped))
	to.counter(loginsDesc, float64(c.failures.Total()))
	c.collectExperiments(to)
}

// collectLog collects what concerns the log and its disk.
func (c *stateCollector) collectLog(to metricSink) {
	stats := c.log.Stats()
	to.gauge(positionDesc, float64(stats.Last))
	to.gauge(snapshotDesc, float64(stats.Snapshot))
	to.counter(groupsDesc, float64(stats.Groups))
	to.gauge(queueDesc, float64(len(c.writer.queue)))
	failed := 0.0
	if c.writer.err() != nil {
		failed = 1
	}
	to.gauge(failedDesc, failed)
	failures, reopens := c.writer.recovery.counts()
	to.counter(failuresDesc, float64(failures))
	to.counter(reopensDesc, float64(reopens))
	usage, age := c.storage.get()
	to.gauge(logBytesDesc, float64(usage.Bytes))
	if usage.Total > 0 {
		to.gauge(freeDesc, float64(usage.Free))
		to.gauge(diskDesc, float64(usage.Total))
	}
	if age >= 0 {
		to.gauge(ageDesc, age.Seconds())
	}
}

// collectExperiments collects what concerns single experiments.
func (c *stateCollector) collectExperiments(to metricSink) {
	c.live.mu.RLock()
	defer c.live.mu.RUnlock()
	for _, name := range c.live.state.Names() {
		v, err := c.live.state.Vitals(name)
		if err != nil {
			continue // not possible: the lock is held
		}
		to.gauge(versionDesc, float64(v.Version), name)
		to.gauge(openDesc, float64(v.Open), name)
		to.counter(orphanDesc, float64(v.Orphans), name)
		mismatch := 0.0
		if v.Mismatch {
			mismatch = 1
		}
		to.gauge(ratioDesc, mismatch, name)
		for i, g := range v.Guardrails {
			level := map[api.GuardState]float64{
				api.GuardHeld: 1, api.GuardOk: 1, api.GuardWatch: 2,
				api.GuardBreached: 3, api.GuardRolledBack: 3,
			}[g.State]
			to.gauge(guardDesc, level, name, strconv.Itoa(i), g.Metric)
		}
		for desc, n := range map[*prometheus.Desc]api.Counts{feedbackDesc: v.Feedback, exposureDesc: v.Exposures} {
			to.counter(desc, float64(n.Accepted), name, "accepted")
			to.counter(desc, float64(n.Duplicate), name, "duplicate")
			to.counter(desc, float64(n.Late), name, "late")
			to.counter(desc, float64(n.Rejected), name, "rejected")
		}
	}
}
