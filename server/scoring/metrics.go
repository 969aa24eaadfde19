package scoring

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/noregret/noregret/classify/serving"
)

// collector collects the metrics of predictions and labels when they are requested.
type collector struct {
	serving *serving.Service
	store   *store // nil if no state is kept
}

var (
	predictionsDesc = prometheus.NewDesc("noregret_predictions_total", "Rows answered.", nil, nil)
	labelsDesc      = prometheus.NewDesc("noregret_labels_total", "Labels by their fate.", []string{"status"}, nil)
	droppedDesc     = prometheus.NewDesc("noregret_rows_dropped_total",
		"Rows dropped without a label, for want of room.", nil, nil)
	learnedDesc = prometheus.NewDesc("noregret_rows_learned", "Rows that the model has learned from.", nil, nil)
	skippedDesc = prometheus.NewDesc("noregret_rows_skipped",
		"Labelled rows that the model has not learned from, as they are far larger than the others.", nil, nil)
	stoppedDesc = prometheus.NewDesc("noregret_learning_stopped",
		"1 if the model learns no more, and that of the start predicts.", nil, nil)
	waitingDesc  = prometheus.NewDesc("noregret_rows_waiting", "Rows that wait for their label.", nil, nil)
	labelledDesc = prometheus.NewDesc("noregret_progressive_rows", "Labelled rows, by scope: all or window.",
		[]string{"scope"}, nil)
	unsavedDesc = prometheus.NewDesc("noregret_state_unsaved", "Rows and labels that are not in the file of the state.",
		nil, nil)
	failingDesc  = prometheus.NewDesc("noregret_state_failing", "1 while the state cannot be saved.", nil, nil)
	failuresDesc = prometheus.NewDesc("noregret_state_failures_total", "Saves of the state that failed.", nil, nil)
	figureDesc   = prometheus.NewDesc("noregret_progressive_value",
		"Value of the predictions as they were answered, by figure and scope: all labelled rows, or the latest.",
		[]string{"figure", "scope"}, nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		predictionsDesc, labelsDesc, droppedDesc, learnedDesc, waitingDesc, labelledDesc, figureDesc,
		skippedDesc, stoppedDesc, unsavedDesc, failingDesc, failuresDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	metric := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	l := c.serving.Learning()
	metric(learnedDesc, prometheus.GaugeValue, float64(l.Learned))
	metric(skippedDesc, prometheus.GaugeValue, float64(l.Skipped))
	metric(stoppedDesc, prometheus.GaugeValue, map[bool]float64{true: 1}[l.Stopped != nil])
	n, waiting := c.serving.Counts()
	metric(predictionsDesc, prometheus.CounterValue, float64(n.Predictions))
	metric(labelsDesc, prometheus.CounterValue, float64(n.Accepted), "accepted")
	metric(labelsDesc, prometheus.CounterValue, float64(n.Duplicate), "duplicate")
	metric(labelsDesc, prometheus.CounterValue, float64(n.Late), "late")
	metric(labelsDesc, prometheus.CounterValue, float64(n.Rejected), "rejected")
	metric(droppedDesc, prometheus.CounterValue, float64(n.Dropped))
	metric(waitingDesc, prometheus.GaugeValue, float64(waiting))
	if c.store != nil {
		unsaved, failing, failures := c.store.status()
		metric(unsavedDesc, prometheus.GaugeValue, float64(unsaved))
		metric(failingDesc, prometheus.GaugeValue, map[bool]float64{true: 1}[failing])
		metric(failuresDesc, prometheus.CounterValue, float64(failures))
	}
	f, err := c.serving.Figures()
	if err != nil {
		return // not possible: the measure was parsed when the model was read
	}
	metric(labelledDesc, prometheus.GaugeValue, float64(f.Rows), "all")
	metric(labelledDesc, prometheus.GaugeValue, float64(f.WindowRows), "window")
	name := c.serving.Model().Measure
	for _, x := range []struct {
		figure, scope string
		value         *float64
	}{
		{name, "all", f.Value},
		{name, "window", f.WindowValue},
		{"auc", "window", f.AUC},
		{"log_loss", "window", f.LogLoss},
		{"brier", "window", f.Brier},
	} {
		if x.value != nil {
			metric(figureDesc, prometheus.GaugeValue, *x.value, x.figure, x.scope)
		}
	}
}
