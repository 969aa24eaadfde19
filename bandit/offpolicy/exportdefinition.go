package offpolicy

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// exportDefinition has what a reader of an export needs of an experiment's definition
// (docs/formats/definition.md).
type exportDefinition struct {
	Arms      json.RawMessage `json:"arms"`
	Control   *exportArm      `json:"control"`
	Metrics   []exportMetric  `json:"metrics"`
	Objective *struct {
		Goals []struct {
			Metric string `json:"metric"`
		} `json:"goals"`
	} `json:"objective"`
	HoldBack float64         `json:"hold_back"`
	Traffic  float64         `json:"traffic"`
	Window   policy.Duration `json:"attribution_window"`

	arms   []string
	reward *exportMetric
	// Exposed and reported are how long after a decision its exposure and its reward count.
	exposed, reported policy.Duration
}

// exportArm is an arm, or the control arm.
type exportArm struct {
	Name  string          `json:"name"`
	Arm   string          `json:"arm"`
	Value json.RawMessage `json:"value"`
}

// exportMetric is a metric.
type exportMetric struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Range     []float64 `json:"range"`
	Cap       *float64  `json:"cap"`
	Default   *float64  `json:"default"`
	Direction string    `json:"direction"`
	// Window is the metric's own, nil for the attribution window.
	Window *policy.Duration `json:"window"`
}

// parseExportDefinition reads a definition as the service writes it, with all defaults filled in.
// Metric names the reward, "" for the only goal.
func parseExportDefinition(text json.RawMessage, metric string) (*exportDefinition, error) {
	d := &exportDefinition{Traffic: 1}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, noregret.BadInputf("definition", "cannot be read: %w", err)
	}
	if d.Window <= 0 {
		return nil, noregret.BadInputf("definition.attribution_window", "missing: want the definition as the "+
			"service shows it, with all defaults")
	}
	if metric == "" {
		if d.Objective == nil || len(d.Objective.Goals) != 1 {
			return nil, noregret.BadInputf("metric", "the objective is not a single goal: the metric that is the "+
				"reward must be named, one of %q", d.names())
		}
		metric = d.Objective.Goals[0].Metric
	}
	if d.reward = d.metric(metric); d.reward == nil || d.reward.Kind == "ratio" {
		return nil, noregret.BadInputf("metric", "%q is not a metric of units: want one of %q", metric, d.names())
	}
	d.exposed, d.reported = mostDuration, d.windowOf(d.reward)
	for i := range d.Metrics {
		if m := &d.Metrics[i]; m.Kind != "ratio" {
			d.exposed = min(d.exposed, d.windowOf(m))
		}
	}
	return d, d.expand()
}

const mostDuration = policy.Duration(math.MaxInt64)

// windowOf returns the window of a metric.
func (d *exportDefinition) windowOf(m *exportMetric) policy.Duration {
	if m.Window != nil {
		return *m.Window
	}
	return d.Window
}

// names lists the metrics that units report.
func (d *exportDefinition) names() (out []string) {
	for i := range d.Metrics {
		if d.Metrics[i].Kind != "ratio" {
			out = append(out, d.Metrics[i].Name)
		}
	}
	return out
}

// metric returns the metric of a name, or nil.
func (d *exportDefinition) metric(name string) *exportMetric {
	for i := range d.Metrics {
		if d.Metrics[i].Name == name {
			return &d.Metrics[i]
		}
	}
	return nil
}

// expand lists the names of the arms in the order of their indices: a control arm with its own
// value, then those of the list or all points of the grid.
func (d *exportDefinition) expand() error {
	if c := d.Control; c != nil && len(c.Value) > 0 {
		d.arms = append(d.arms, c.Arm)
	}
	var list []exportArm
	if json.Unmarshal(d.Arms, &list) == nil {
		for _, a := range list {
			d.arms = append(d.arms, a.Name)
		}
		return nil
	}
	var form struct {
		Grid map[string][]json.RawMessage `json:"grid"`
	}
	if err := json.Unmarshal(d.Arms, &form); err != nil || form.Grid == nil {
		return noregret.BadInputf("definition.arms", "want a list or a grid: the points of a box are not in the log")
	}
	points := []string{""}
	for _, parameter := range slices.Sorted(maps.Keys(form.Grid)) {
		var next []string
		for _, point := range points {
			if point != "" {
				point += ","
			}
			for _, value := range form.Grid[parameter] {
				var text string
				if json.Unmarshal(value, &text) != nil {
					text = string(value)
				}
				next = append(next, point+parameter+"="+text)
			}
		}
		points = next
	}
	d.arms = append(d.arms, points...)
	return nil
}

// accepts reports whether the service counts feedback with these values.
func (d *exportDefinition) accepts(values map[string]float64) bool {
	for name, v := range values {
		m := d.metric(name)
		if m == nil || m.Kind == "ratio" || m.Kind == "count" && v != math.Trunc(v) {
			return false
		}
		if low, high := m.interval(); !(v >= low && v <= high) {
			return false
		}
	}
	return len(values) > 0
}

// largestValue is the greatest size of an observation of a metric without a range.
const largestValue = 1e15

// interval is the range of one observation as it is reported.
func (m *exportMetric) interval() (low, high float64) {
	switch {
	case len(m.Range) == 2:
		return m.Range[0], m.Range[1]
	case m.Kind == "count":
		return 0, largestValue
	}
	return -largestValue, largestValue
}

// counted is the range of one observation after capping.
func (m *exportMetric) counted() (low, high float64) {
	low, high = m.interval()
	if m.Cap != nil {
		low, high = max(low, -*m.Cap), min(high, *m.Cap)
	}
	return low, high
}

// count returns the observation as it counts.
func (m *exportMetric) count(v float64) float64 {
	low, high := m.counted()
	return min(max(v, low), high)
}

// id names a decision.
func (e *exportRow) id() string { return strconv.FormatUint(e.version, 10) + "/" + e.unit }
