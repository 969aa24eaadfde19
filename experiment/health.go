package experiment

import (
	"github.com/noregret/noregret/internal/portable"
)

// ratioTest is a sequential test of the sample ratio: whether units are exposed to the arms as the policy
// decided. Its evidence E is a product over units of q/p, where p is the arm's exact propensity and q a
// forecast made before the unit came, p·(κ+n)/(κ+E n) normalised, by the units n of the arm so far and
// their expected number. Under the null E is a martingale with mean 1, so that it ever reaches 1/α with
// probability at most α (Ville): it may be looked at all the time, and the mixture may change
// (specification 10.10 asks the same of a fixed number of looks).
//
// With stickiness "unit" the same units come again in every version, which is no new evidence: there each
// version is judged by itself, at the level α/(v(v+1)).
type ratioTest struct {
	Version  uint64 `json:"version"` // of the weights below
	Versions int64  `json:"versions"`
	// LogE is ln E, Worst the largest that has been, after the level of the version is taken off.
	LogE     float64 `json:"log_e"`
	Worst    float64 `json:"worst"`
	Seen     f64s    `json:"seen"`
	Expected f64s    `json:"expected"`
	// Weights are (κ+n)/(κ+E n), Total Σp·weight, made when a forecast is due; Since are the units since
	// then.
	Weights f64s    `json:"weights"`
	Total   float64 `json:"total"`
	Since   int64   `json:"since"`
}

const (
	ratioShrink = 50   // κ
	ratioAlpha  = 1e-4 // of the alarm
	ratioEvery  = 32   // units between forecasts
)

// add takes n units of a slot.
func (r *ratioTest) add(x *live, c *cohort, slot int, n int64) {
	if n == 0 || x.def.Stickiness == "unit" && c.Version < r.Version {
		return
	}
	if r.Version != c.Version || len(r.Weights) != len(c.Mixture) || r.Since >= ratioEvery {
		if r.Version != c.Version && x.def.Stickiness == "unit" && c.Version > r.Version {
			r.LogE, r.Seen, r.Expected = 0, nil, nil
			r.Versions++
		}
		r.forecast(c)
	}
	r.Since += n
	if c.Mixture[slot] > 0 {
		r.LogE += float64(float64(n) * portable.Log(r.Weights[slot]/r.Total))
	}
	r.Seen[slot] += float64(n)
	for k, p := range c.Mixture {
		r.Expected[k] += float64(p * float64(n))
	}
	level := 0.0
	if v := float64(r.Versions); v > 0 {
		level = portable.Log(v * (v + 1))
	}
	r.Worst = max(r.Worst, r.LogE-level)
}

// forecast makes the weights of the next units.
func (r *ratioTest) forecast(c *cohort) {
	for len(r.Seen) < len(c.Mixture) {
		r.Seen, r.Expected = append(r.Seen, 0), append(r.Expected, 0)
	}
	r.Version, r.Since, r.Total, r.Weights = c.Version, 0, 0, r.Weights[:0]
	for k, p := range c.Mixture {
		w := (ratioShrink + r.Seen[k]) / (ratioShrink + r.Expected[k])
		r.Weights = append(r.Weights, w)
		r.Total += float64(p * w)
	}
}

// mismatch reports whether the alarm has been raised, and the p-value that is valid at all times.
func (r *ratioTest) mismatch() (alarm bool, p float64) {
	p = min(1, portable.Exp(-r.Worst))
	return p <= ratioAlpha, p
}

// Health says whether the data can be trusted.
type Health struct {
	// SampleRatio is the sequential test of whether units are exposed as decided. Mismatch is an alarm at
	// 1e-4; P is valid at all times.
	SampleRatio struct {
		Mismatch bool    `json:"mismatch"`
		P        float64 `json:"p"`
	} `json:"sample_ratio"`
	// Missing is the share of units of closed windows for which a metric was never reported.
	Missing map[string]float64 `json:"missing"`
	// Orphans counts values whose unit's exposure was never reported.
	Orphans int64 `json:"orphans"`
	// Dead are arms with a share and no units although at least 20 were to be expected.
	Dead []string `json:"dead"`
	// Unlearned counts units of rounds that the policy could not use, as a metric was missing.
	Unlearned int64 `json:"unlearned"`
	// Open counts units that wait for feedback.
	Open int64 `json:"open"`
	// Exposures are the fates of the exposures reported.
	Exposures Counts `json:"exposures"`
	// Problems says in words what is wrong.
	Problems []string `json:"problems"`
}

func (x *live) health() Health {
	h := Health{Missing: map[string]float64{}, Dead: []string{}, Problems: []string{}, Orphans: x.Orphans, Unlearned: x.Unlearned, Exposures: x.Exposures}
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
	for _, c := range x.cohorts {
		h.Open += int64(c.rows())
	}
	return h
}

// Vitals are the few numbers of an experiment that a monitoring system asks for all the time.
type Vitals struct {
	Version    uint64
	Open       int64 // units that wait for feedback
	Orphans    int64
	Mismatch   bool
	Feedback   Counts
	Guardrails []GuardVital
}

// GuardVital is the state of a guardrail on a metric.
type GuardVital struct {
	Metric string
	State  GuardState
}

// Vitals reads an experiment's vitals, in O(guardrails + versions that wait).
func (s *State) Vitals(name string) (Vitals, error) {
	x := s.live[name]
	if x == nil {
		return Vitals{}, notThere(name)
	}
	v := Vitals{Version: x.Version, Orphans: x.Orphans, Feedback: x.Feedback}
	v.Mismatch, _ = x.Ratio.mismatch()
	for _, c := range x.cohorts {
		v.Open += int64(c.rows())
	}
	for i := range x.Guards {
		v.Guardrails = append(v.Guardrails, GuardVital{x.def.Guardrails[i].Metric, x.Guards[i].State})
	}
	return v, nil
}
