package experiment

import (
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/portable"
)

// ratioTest is a sequential test of the sample ratio: whether units are exposed to the arms as the
// policy decided. It may be looked at all the time, and the mixture may change.
//
// Of each policy version it keeps the evidence E: the probability of the counts by arm when the
// shares are Dirichlet, over that when they are the policy's p (Lindon and Malek 2022). The
// Dirichlet's mean is p tilted by what was seen in versions before, and is fixed when the version
// begins. Under the null E is a martingale that begins at 1. It depends on the counts alone, not on
// their order, so that units and sums, in whatever batches, come to the same; it is looked at when
// an event is over, as the order within one is the client's.
//
// Within a stream of draws the same units come again in the next version, which is no new evidence:
// a stream's evidence is the weighted mean of its versions' (the weights sum to 1), not their
// product. Streams are drawn independently: their evidence is multiplied. The product ever reaches
// 1/α with probability at most α (Ville).
type ratioTest struct {
	// LogE is ln of the evidence of streams that are over, Worst the largest that the whole has
	// ever been.
	LogE     float64       `json:"log_e"`
	Worst    float64       `json:"worst"`
	Seen     f64s          `json:"seen"` // units by arm, and how many were to be expected
	Expected f64s          `json:"expected"`
	Streams  []ratioStream `json:"streams"` // with versions that are open, the oldest first
	Observed bool          `json:"-"`       // units were added in this event
}

// ratioStream is a stream of draws in the test.
type ratioStream struct {
	First    uint64   `json:"first"`    // the version that began it
	Versions int64    `json:"versions"` // how many there were
	Closed   *float64 `json:"closed"`   // ln Σ weight·E of those that have matured, nil for none
	Log      float64  `json:"log"`      // ln of the stream's evidence
	changed  bool     // in this event
}

// ratioCount is a version in the test.
type ratioCount struct {
	First uint64  `json:"first"`
	Index int64   `json:"index"` // in its stream, from 1
	Units int64   `json:"units"` // of all arms
	LogE  float64 `json:"log_e"`
	Prior f64s    `json:"prior"` // the Dirichlet's parameters by arm
	Mass  float64 `json:"mass"`  // their sum
	added int64   // units of this event
}

const (
	ratioPrior = 50   // units by which each arm's share is expected as the policy says
	ratioAlpha = 1e-4 // of the alarm
)

// begin takes a version into the test; first is the version that began its stream.
func (r *ratioTest) begin(c *cohort, first uint64) {
	if n := len(r.Streams); n == 0 || r.Streams[n-1].First != first {
		r.Streams = append(r.Streams, ratioStream{First: first})
	}
	s := &r.Streams[len(r.Streams)-1]
	s.Versions++
	for len(r.Seen) < len(c.Mixture) {
		r.Seen, r.Expected = append(r.Seen, 0), append(r.Expected, 0)
	}
	t := &c.Test
	t.First, t.Index, t.Mass = first, s.Versions, 0
	total := 0.0
	for k, p := range c.Mixture {
		w := float64(p * ((ratioPrior + r.Seen[k]) / (ratioPrior + r.Expected[k])))
		t.Prior = append(t.Prior, w)
		total += w
		if p > 0 {
			t.Mass += ratioPrior
		}
		t.Mass += r.Seen[k]
	}
	for k := range t.Prior {
		t.Prior[k] *= t.Mass / total
	}
}

// weight is that of a version in its stream. Rounds have streams of their own, mostly of one
// version.
func ratioWeight(stickiness string, index int64) float64 {
	i := float64(index)
	switch {
	case stickiness == "unit":
		return 1 / float64(i*(i+1))
	case index == 1:
		return 0.99
	}
	return 0.01 / float64(i*(i-1))
}

// ratioRest is the weight of the versions that have not begun, after the given number.
func ratioRest(stickiness string, versions int64) float64 {
	if stickiness == "unit" {
		return 1 / float64(versions+1)
	}
	return 0.01 / float64(versions)
}

// add takes n units of an arm. The cohort's own statistics do not have them yet.
func (r *ratioTest) add(c *cohort, arm int, n int64) {
	p, t := c.Mixture[arm], &c.Test
	if n <= 0 || !(p > 0) {
		return
	}
	before := c.Stats[arm].Units
	t.LogE += confseq.LogEvidence(t.Prior[arm], t.Mass, p, before, t.Units, n)
	t.Units += n
	t.added += n
	r.Seen[arm] += float64(n)
	r.Observed = true
}

// evaluate updates the evidence when an event is over.
func (r *ratioTest) evaluate(stickiness string, cohorts []*cohort) {
	if !r.Observed {
		return
	}
	r.Observed = false
	for i := range r.Streams {
		r.Streams[i].changed = false
	}
	for _, c := range cohorts {
		if c.Test.added == 0 {
			continue
		}
		for k, p := range c.Mixture {
			r.Expected[k] += float64(p * float64(c.Test.added))
		}
		c.Test.added = 0
		for i := range r.Streams {
			if r.Streams[i].First == c.Test.First {
				r.Streams[i].changed = true
			}
		}
	}
	total := r.LogE
	for i := range r.Streams {
		s := &r.Streams[i]
		if s.changed {
			s.Log = portable.Log(ratioRest(stickiness, s.Versions))
			if s.Closed != nil {
				s.Log = confseq.LogSum(s.Log, *s.Closed)
			}
			for _, c := range cohorts {
				if c.Test.First == s.First {
					s.Log = confseq.LogSum(s.Log, portable.Log(ratioWeight(stickiness, c.Test.Index))+c.Test.LogE)
				}
			}
		}
		total += s.Log
	}
	r.Worst = max(r.Worst, total)
}

// mature takes out a version of which no more units can come.
func (r *ratioTest) mature(stickiness string, cohorts []*cohort, c *cohort) {
	for i := range r.Streams {
		s := &r.Streams[i]
		if s.First != c.Test.First {
			continue
		}
		v := portable.Log(ratioWeight(stickiness, c.Test.Index)) + c.Test.LogE
		if s.Closed != nil {
			v = confseq.LogSum(v, *s.Closed)
		}
		s.Closed = &v
	}
	for len(r.Streams) > 1 {
		for _, o := range cohorts {
			if o != c && o.Test.First == r.Streams[0].First {
				return
			}
		}
		r.LogE += r.Streams[0].Log
		r.Streams = append([]ratioStream(nil), r.Streams[1:]...)
	}
}

// mismatch reports whether the alarm has been raised, and the p-value that is valid at all times.
func (r *ratioTest) mismatch() (alarm bool, p float64) {
	p = min(1, portable.Exp(-r.Worst))
	return p <= ratioAlpha, p
}
