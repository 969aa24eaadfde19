package experiment

import "github.com/noregret/noregret/policy"

func (x *experimentState) health() policy.Health {
	h := policy.Health{
		Missing: map[string]float64{}, Dead: []string{}, Problems: []string{}, Orphans: x.Orphans,
		Unlearned: x.Unlearned, DuplicateValues: x.DuplicateValues, Exposures: x.Exposures,
	}
	h.SampleRatio.Mismatch, h.SampleRatio.P = x.Ratio.mismatch()
	if h.SampleRatio.Mismatch {
		h.Problems = append(h.Problems, "sample ratio mismatch: units are not exposed to the arms as decided")
	}
	for i := range x.def.Metrics {
		m := &x.def.Metrics[i]
		if m.Kind == "ratio" || x.Matured == 0 {
			continue
		}
		share := float64(x.Missing[i]) / float64(x.Matured)
		h.Missing[m.Name] = share
		if m.Default == nil && share > 0.5 {
			h.Problems = append(h.Problems, "missing feedback: "+m.Name+" was not reported for most units")
		}
	}
	for k := range x.Arms {
		if x.Arms[k].Active && k < len(x.Ratio.Expected) && x.Ratio.Seen[k] == 0 && x.Ratio.Expected[k] >= 20 {
			h.Dead = append(h.Dead, x.Arms[k].Name)
			h.Problems = append(h.Problems, "dead arm: "+x.Arms[k].Name+" was never exposed")
		}
	}
	if total := x.Feedback.Accepted; h.Orphans > 0 && h.Orphans*10 > total {
		h.Problems = append(h.Problems, "orphan feedback: many values are of units whose exposure was not reported")
	}
	h.Open = x.open()
	h.Problems = append(h.Problems, x.shrunk(&x.roster, x.running().Mixture)...)
	if len(x.cohorts) >= x.maxOpen() {
		h.Problems = append(h.Problems, "rounds wait: "+itoa(len(x.cohorts))+" policy versions wait for their "+
			"attribution window, the most that may; a round of a larger part of the window, or a longer one, would not")
	}
	return h
}

// Vitals are the few numbers of an experiment that a monitoring system asks for all the time.
type Vitals struct {
	Version    uint64
	Open       int64 // units that wait for feedback
	Orphans    int64
	Mismatch   bool
	Feedback   policy.Counts
	Guardrails []GuardVital
}

// GuardVital is the state of a guardrail on a metric.
type GuardVital struct {
	Metric string
	State  policy.GuardState
}

// Vitals reads an experiment's vitals, in O(guardrails + versions that wait).
func (s *State) Vitals(name string) (Vitals, error) {
	x := s.live[name]
	if x == nil {
		return Vitals{}, notThere(name)
	}
	v := Vitals{Version: x.Version, Orphans: x.Orphans, Feedback: x.Feedback}
	v.Mismatch, _ = x.Ratio.mismatch()
	v.Open = x.open()
	for i := range x.Guards {
		v.Guardrails = append(v.Guardrails, GuardVital{x.def.Guardrails[i].Metric, x.Guards[i].State})
	}
	return v, nil
}
