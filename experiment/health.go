package experiment

import (
	"strings"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
)

// health holds the counters that show whether the data of an experiment can be trusted.
type health struct {
	Orphans int64   `json:"orphans"` // values of units whose exposure was never reported
	Matured []int64 `json:"matured"` // by metric: exposed units whose window has closed
	Missing []int64 `json:"missing"` // by metric: the matured units without a value
}

func newHealth(metrics int) health {
	return health{Matured: make([]int64, metrics), Missing: make([]int64, metrics)}
}

// apply counts the units of a version in metrics whose window has closed.
func (x *health) apply(c *join.Closed) {
	x.Orphans += c.Orphans
	for _, m := range c.Metrics {
		x.Matured[m] += c.Units
		x.Missing[m] += c.Missing[m]
	}
}

// A metric without a default is a problem if more than this share of the units lacks it.
const missingProblem = 0.5

// An arm is dead if it was never exposed while at least this many units were expected.
const deadArm = 20

// report returns the health by the counters and what was joined.
func (x *health) report(r *roster, j *join.Joiner) api.Health {
	h := api.Health{
		Missing: map[string]float64{}, Dead: []string{}, Problems: []string{}, Orphans: x.Orphans,
		DuplicateValues: j.Again,
	}
	h.SampleRatio.Mismatch, h.SampleRatio.P = j.Ratio.Mismatch()
	if h.SampleRatio.Mismatch {
		h.Problems = append(h.Problems, "sample ratio mismatch: units are not exposed to the arms as decided")
	}
	for i := range r.def.Metrics {
		m := &r.def.Metrics[i]
		if m.Kind == "ratio" || x.Matured[i] == 0 || r.def.Privacy != nil {
			continue
		}
		share := float64(x.Missing[i]) / float64(x.Matured[i])
		h.Missing[m.Name] = share
		if m.Default == nil && share > missingProblem {
			h.Problems = append(h.Problems, "missing feedback: "+m.Name+" was not reported for most units")
		}
	}
	for k := range r.Arms {
		if r.Arms[k].Active && k < len(j.Ratio.Expected) && j.Ratio.Seen[k] == 0 &&
			j.Ratio.Expected[k] >= deadArm {
			h.Dead = append(h.Dead, r.Arms[k].Name)
			h.Problems = append(h.Problems, "dead arm: "+r.Arms[k].Name+" was never exposed")
		}
	}
	if h.Orphans > 0 && h.Orphans*10 > j.Feedback.Accepted {
		h.Problems = append(h.Problems, "orphan feedback: many values are of units whose exposure was not reported")
	}
	return h
}

// healthReport returns the report of all parts.
func (x *experimentState) healthReport() api.Health {
	h := x.health.report(&x.roster, x.joiner)
	h.Unlearned, h.Exposures, h.Open = x.learning.Unlearned, x.joiner.Exposures, x.joiner.Open()
	h.Replaced, h.Redrawn = x.learning.Replaced, x.joiner.Kept.Redrawn
	for _, text := range []string{
		RefusalProblem("exposures", x.joiner.Exposures), RefusalProblem("feedback", x.joiner.Feedback),
	} {
		if text != "" {
			h.Problems = append(h.Problems, text)
		}
	}
	if x.Private != nil {
		h.Problems = append(h.Problems, x.Private.problems()...)
	} else {
		h.Problems = append(h.Problems, x.guards.Problems(x.guardEvidence(false), func(k int) string {
			return x.roster.Arms[k].Name
		}, x.joiner.Running().Mixture, x.Status != policy.Running && x.Status != policy.Paused)...)
	}
	h.Problems = append(h.Problems, stopView{&x.roster}.stopped()...)
	if text := x.noRoom(); text != "" {
		h.Problems = append(h.Problems, text)
	}
	if len(x.joiner.Versions) >= x.roster.maxOpen() {
		h.Problems = append(h.Problems, "rounds wait: "+itoa(len(x.joiner.Versions))+" policy versions wait for their "+
			"attribution window, the maximum; longer rounds, relative to the window, would avoid this")
	}
	return h
}

// Vitals are the few numbers of an experiment that a monitoring system asks for all the time.
type Vitals struct {
	Version    uint64
	Open       int64 // units that wait for feedback
	Orphans    int64
	Mismatch   bool
	Feedback   api.Counts
	Exposures  api.Counts
	Guardrails []GuardVital
	// Actions are the last things that guardrails have done, in order.
	Actions []GuardEvent
	// Stopped are the arms that guardrails have stopped.
	Stopped []StoppedArm
}

// StoppedArm is an arm that gets no share.
type StoppedArm struct{ Arm, Why string }

// GuardVital is the state of a guardrail on a metric.
type GuardVital struct {
	Metric string
	State  api.GuardState
}

// Vitals reads an experiment's vitals, in O(guardrails + versions that wait).
func (s *State) Vitals(name string) (Vitals, error) {
	x := s.live[name]
	if x == nil {
		return Vitals{}, s.Deleted.NotThere(name)
	}
	v := Vitals{Version: x.rounds.Version, Orphans: x.health.Orphans, Feedback: x.joiner.Feedback}
	v.Exposures = x.joiner.Exposures
	v.Mismatch, _ = x.joiner.Ratio.Mismatch()
	v.Open = x.joiner.Open()
	for i := range x.guards.Guards {
		v.Guardrails = append(v.Guardrails, GuardVital{x.roster.def.Guardrails[i].Metric, x.guards.Guards[i].State})
	}
	v.Actions = x.guards.events(name, false)
	for k := range x.roster.Arms {
		if a := &x.roster.Arms[k]; a.Active && a.Stop != "" && !strings.HasPrefix(a.Why, byHand) {
			v.Stopped = append(v.Stopped, StoppedArm{a.Name, a.Why})
		}
	}
	return v, nil
}
