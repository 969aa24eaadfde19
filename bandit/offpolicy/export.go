package offpolicy

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// ExportOptions say what to read from an export. The zero value reads the only experiment of the
// export, with its only goal as the reward.
type ExportOptions struct {
	// Experiment is the name of the experiment. It may be empty if the export has only one.
	Experiment string
	// Metric is the metric that is the reward. It may be empty if the objective has a single goal.
	Metric string
	// Definition is the experiment's definition in JSON. It is required only if the export begins
	// after the event with the definition, because the service has dropped earlier events.
	Definition json.RawMessage
}

// Export is a [Reader] of the service's log. Make one with [NewExport].
type Export struct {
	*Reader
	o    ExportOptions
	line func() ([]byte, error)

	def     *exportDefinition // nil before the definition is read
	name    string            // of the experiment, "" before it is known
	deleted int               // the line with the event that deleted the experiment, 0 for none
	arms    []string
	now     int64 // the latest time of an event, in nanoseconds
	open    map[exportUnit]*exportRow
	queue   []*exportRow          // of open, in the order in which they were first seen
	kept    map[string]*exportRow // the open decisions that the service keeps, by unit
	ended   bool
}

// exportUnit identifies a decision: all decisions for a unit under a version are the same.
type exportUnit struct {
	version uint64
	unit    string
}

// exportRow is a decision whose window is open.
type exportRow struct {
	exportUnit
	item    exportItem
	line    int
	exposed bool
	valued  bool
	masked  bool // not all arms were allowed
	value   float64
}

// NewExport reads what `noregret log export` and GET /v1/export print: one event per line. A row is
// a unit that was exposed to an arm under a version of the policy. Its ID is "version/unit", its
// time that of the decision. The reward is what feedback says about the unit within the attribution
// window; the first report of a metric counts. A unit without a report has the metric's default. If
// the metric is to go down, the reward is its negative. Rows come in the order in which their units
// first appear, when their windows have closed, or at the end of the export.
//
// [Reader.Skipped] counts the exposed units that are no rows: those without a reward, because the
// metric has no default; those for which some arms were excluded, as they say nothing about a
// policy over all arms; and those that are held back or do not take part, which get the control arm
// without a draw. The log does not mark the last ones. So in an experiment that has such units,
// all units of propensity 1 are skipped: a mixture with one arm says nothing about the others
// anyway. Sums ([api.Aggregate]) have no units and are ignored.
//
// The service decides about late and impossible feedback when it folds the log, which does not
// record the answer. NewExport applies the rules of the definition that is in force: the window,
// the ranges of the metrics, the first report. It does not know when a version ended, so it may
// count feedback for decisions made by an old copy of a policy, which the service refuses.
//
// Memory grows with the units whose windows are open. Name stands for the input in errors.
func NewExport(name string, in io.Reader, o ExportOptions) *Export {
	x := &Export{
		Reader: &Reader{name: name}, o: o, name: o.Experiment, now: math.MinInt64,
		open: map[exportUnit]*exportRow{}, kept: map[string]*exportRow{},
	}
	x.line = x.scanner(in)
	x.next = x.row
	return x
}

// Arms returns the names of the arms by their index, including retired ones. They are known after
// the first call of Read; later events may add arms. The caller must not change the slice.
func (x *Export) Arms() []string { return x.arms }

// Range returns the range of the rewards, ±1e15 for a metric without one. It is known after the
// first call of Read; ok is false before.
func (x *Export) Range() (low, high float64, ok bool) {
	if x.def == nil {
		return 0, 0, false
	}
	m := x.def.reward
	low, high = m.counted()
	if m.Direction == "down" {
		low, high = 0-high, 0-low
	}
	return low, high, true
}

// row reads lines until a row is complete.
func (x *Export) row(r *Row) error {
	for {
		for len(x.queue) > 0 && (x.ended || x.now-x.queue[0].time() > int64(x.def.reported)) {
			e := x.queue[0]
			x.queue = x.queue[1:]
			delete(x.open, e.exportUnit)
			if x.kept[e.unit] == e {
				delete(x.kept, e.unit)
			}
			if x.finish(e, r) {
				return nil
			}
		}
		if x.ended {
			return io.EOF
		}
		text, err := x.line()
		if err == io.EOF {
			if x.def == nil {
				x.Reader.line = max(x.Reader.line, 1)
				return x.bad("the export has no definition of %s", x.called())
			}
			x.ended = true
			continue
		}
		if err != nil {
			return err
		}
		if err := x.event(text); err != nil {
			return err
		}
	}
}

func (x *Export) called() string {
	if x.name == "" {
		return "an experiment"
	}
	return "experiment " + x.name
}

// time returns the time of the decision in nanoseconds.
func (e *exportRow) time() int64 { return e.item.Time * int64(time.Millisecond) }

// finish turns a decision whose window has closed into a row and reports whether it is one.
func (x *Export) finish(e *exportRow, r *Row) bool {
	if !e.exposed {
		return false
	}
	m := x.def.reward
	value := e.value
	if !e.valued && m.Default != nil {
		value, e.valued = m.count(*m.Default), true
	}
	if !e.valued || e.masked || e.item.Propensity == 1 && (x.def.HoldBack > 0 || x.def.Traffic < 1) {
		x.skipped++
		return false
	}
	if m.Direction == "down" {
		value = 0 - value
	}
	x.began = e.line
	*r = Row{
		ID: e.id(), Time: time.UnixMilli(e.item.Time).UTC(), Arm: e.item.Arm, Propensity: e.item.Propensity,
		Reward: value,
	}
	return true
}

// exportLine is a line of an export.
type exportLine struct {
	Position uint64          `json:"position"`
	Kind     string          `json:"kind"`
	Time     int64           `json:"time"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	Base64   string          `json:"base64,omitempty"`
}

// event applies a line.
func (x *Export) event(text []byte) error {
	var l exportLine
	if err := strictjson.Decode(text, &l, strictjson.Rules{Required: true}); err != nil {
		return x.bad("not a line of an export: %w", err)
	}
	x.now = max(x.now, l.Time)
	var about struct {
		Experiment string `json:"experiment"`
	}
	if l.Payload == nil || json.Unmarshal(l.Payload, &about) != nil || about.Experiment == "" {
		return nil // not an event of the service
	}
	switch {
	case x.name == "":
		x.name = about.Experiment
	case x.name != about.Experiment && x.o.Experiment == "":
		return x.bad("the export has the experiments %s and %s: the name of one is required", x.name, about.Experiment)
	case x.name != about.Experiment:
		return nil
	}
	if err := x.apply(l.Kind, l.Payload); err != nil {
		return x.bad("%w", err)
	}
	return nil
}

// apply applies an event of the experiment.
func (x *Export) apply(kind string, payload json.RawMessage) error {
	if x.def == nil && kind != "definition" {
		if x.o.Definition == nil {
			return noregret.BadInputf("definition", "the export begins after the definition of %s: it is required",
				x.called())
		}
		if err := x.define(x.o.Definition); err != nil {
			return err
		}
	}
	switch kind {
	case "definition":
		var p struct {
			Definition json.RawMessage `json:"definition"`
		}
		if err := json.Unmarshal(payload, &p); err != nil {
			return err
		}
		return x.define(p.Definition)
	case "arm.add":
		var p struct {
			Arm string `json:"arm"`
		}
		if err := json.Unmarshal(payload, &p); err != nil {
			return err
		}
		if !slices.Contains(x.arms, p.Arm) {
			x.arms = append(x.arms, p.Arm)
		}
	case "delete":
		x.deleted = x.Reader.line
	case "restore":
		x.deleted = 0
	case "exposures", "feedback":
		var p exportUnits
		if err := json.Unmarshal(payload, &p); err != nil {
			return err
		}
		for i := range p.Items {
			x.item(kind, &p.Items[i])
		}
	}
	return nil
}

// define reads a definition. It adds the arms that are new.
func (x *Export) define(text json.RawMessage) error {
	if x.deleted > 0 {
		return noregret.BadInputf("definition", "%s was deleted on line %d and made again: its arms may be others; "+
			"split the export there", x.called(), x.deleted)
	}
	d, err := parseExportDefinition(text, x.o.Metric)
	if err != nil {
		return err
	}
	x.def = d
	for _, name := range d.arms {
		if !slices.Contains(x.arms, name) {
			x.arms = append(x.arms, name)
		}
	}
	return nil
}

// exportUnits is the payload of exposures and feedback.
type exportUnits struct {
	Items []exportItem `json:"items"`
}

// exportItem is a unit with what was decided for it and what was reported.
type exportItem struct {
	Version    uint64             `json:"v"`
	Arm        int                `json:"a"`
	Propensity float64            `json:"p"`
	Unit       string             `json:"u"`
	Time       int64              `json:"t"` // milliseconds since 1970
	Metrics    map[string]float64 `json:"m"`
	// Kept says that the service keeps the decision, so that items without a version find it by the
	// unit.
	Kept *struct {
		Among    []int `json:"among"`
		Deferred bool  `json:"deferred"`
	} `json:"k"`
}

// item joins an exposure or feedback with its unit. Items that the service refuses are ignored.
func (x *Export) item(kind string, item *exportItem) {
	if _, ok := policy.ParseUnit(item.Unit); !ok || kind == "feedback" && !x.def.accepts(item.Metrics) {
		return
	}
	e := x.kept[item.Unit]
	if item.Version == 0 && e == nil || item.Kept != nil && e != nil {
		return
	}
	at := item.Time
	if item.Version == 0 {
		at = e.item.Time
	}
	window := x.def.exposed
	if kind == "feedback" {
		window = x.def.reported
	}
	if x.now-at*int64(time.Millisecond) > int64(window) {
		return
	}
	if item.Version != 0 {
		e = x.decision(item)
	}
	switch k := item.Kept; {
	case kind == "feedback":
		e.report(x.def.reward, item.Metrics)
	case k == nil:
		e.exposed = true
	default:
		e.exposed, e.masked = e.exposed || !k.Deferred, len(k.Among) > 0
		x.kept[item.Unit] = e
	}
}

// decision returns the open decision of an item. If it is new, it joins the queue.
func (x *Export) decision(item *exportItem) *exportRow {
	key := exportUnit{item.Version, item.Unit}
	e := x.open[key]
	if e == nil {
		e = &exportRow{exportUnit: key, item: *item, line: x.Reader.line}
		e.item.Metrics = nil
		x.open[key] = e
		x.queue = append(x.queue, e)
	}
	return e
}

// report records the first value of the reward's metric.
func (e *exportRow) report(m *exportMetric, values map[string]float64) {
	if v, ok := values[m.Name]; ok && !e.valued {
		e.value, e.valued = m.count(v), true
	}
}
