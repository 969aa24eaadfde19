package join

import (
	"slices"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/internal/portable"
)

// Ratio is a sequential test of the sample ratio: whether units are exposed to the arms as the
// policy decided. It is valid at any time, and the mixture may change.
//
// For each policy version it keeps the evidence E: the probability of the counts by arm if the
// shares are Dirichlet, divided by their probability if the shares are the policy's p (Lindon and
// Malek 2022). The Dirichlet's mean is p tilted by the counts of earlier versions, and is fixed
// when the version begins. Under the null hypothesis E is a martingale that begins at 1. It depends
// only on the counts, not on their order, so units and sums in any batches give the same result. It
// is evaluated at the end of an event, because the client chooses the order within one.
//
// Within a stream of draws the same units return in the next version, which is no new evidence: a
// stream's evidence is the weighted mean of its versions' evidence (the weights sum to 1), not the
// product. Streams are drawn independently, so their evidence is multiplied. The product ever
// reaches 1/α with probability at most α (Ville).
type Ratio struct {
	// LogE is ln of the evidence of completed streams, Worst the maximum of ln of the total
	// evidence so far.
	LogE     float64         `json:"log_e"`
	Worst    float64         `json:"worst"`
	Seen     column.Float64s `json:"seen"` // units by arm, and their expected numbers
	Expected column.Float64s `json:"expected"`
	Streams  []ratioStream   `json:"streams"` // with open versions, the oldest first
	Observed bool            `json:"-"`       // this event had units
}

// ratioStream is a stream of draws in the test.
type ratioStream struct {
	First    uint64   `json:"first"`    // the version that began it
	Versions int64    `json:"versions"` // number of its versions
	Closed   *float64 `json:"closed"`   // ln Σ weight·E of the matured versions, nil for none
	Log      float64  `json:"log"`      // ln of the stream's evidence
	changed  bool     // in this event
}

// ratioCount is a version in the test.
type ratioCount struct {
	First uint64          `json:"first"`
	Index int64           `json:"index"` // in its stream, from 1
	Units int64           `json:"units"` // of all arms
	LogE  float64         `json:"log_e"`
	Prior column.Float64s `json:"prior"` // the Dirichlet's parameters by arm
	Mass  float64         `json:"mass"`  // their sum
	// Masked are the units, by arm, that are not in the test: not all arms were allowed for them.
	Masked []int64 `json:"masked,omitempty"`
	added  int64   // units of this event
}

const (
	ratioPrior = 50   // pseudocounts per arm that follow the policy's shares
	ratioAlpha = 1e-4 // of the alarm
)

// begin adds a version to the test; first is the version that began its stream.
func (r *Ratio) begin(c *Version, first uint64) {
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

// ratioWeight is the weight of a version in its stream. With stickiness round every round has its
// own stream, mostly of one version.
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

// ratioRest is the total weight of the versions after the given number of them.
func ratioRest(stickiness string, versions int64) float64 {
	if stickiness == "unit" {
		return 1 / float64(versions+1)
	}
	return 0.01 / float64(versions)
}

// add adds n units of an arm. The version's statistics do not include them yet.
func (r *Ratio) add(c *Version, arm int, n int64) {
	p, t := c.Mixture[arm], &c.Test
	if n <= 0 || !(p > 0) {
		return
	}
	before := c.Stats[arm].Units
	if t.Masked != nil {
		before -= t.Masked[arm]
	}
	t.LogE += confseq.LogEvidence(t.Prior[arm], t.Mass, p, before, t.Units, n)
	t.Units += n
	t.added += n
	r.Seen[arm] += float64(n)
	r.Observed = true
}

// skip counts n units of an arm that are not in the test.
func (t *ratioCount) skip(arm int, n int64, arms int) {
	if t.Masked == nil {
		t.Masked = make([]int64, arms)
	}
	t.Masked[arm] += n
}

// evaluate updates the evidence at the end of an event.
func (r *Ratio) evaluate(stickiness string, versions []*Version) {
	if !r.Observed {
		return
	}
	r.Observed = false
	for i := range r.Streams {
		r.Streams[i].changed = false
	}
	for _, c := range versions {
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
			for _, c := range versions {
				if c.Test.First == s.First {
					s.Log = confseq.LogSum(s.Log, portable.Log(ratioWeight(stickiness, c.Test.Index))+c.Test.LogE)
				}
			}
		}
		total += s.Log
	}
	r.Worst = max(r.Worst, total)
}

// mature removes a version that can get no more units.
func (r *Ratio) mature(stickiness string, versions []*Version, c *Version) {
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
		for _, o := range versions {
			if o != c && o.Test.First == r.Streams[0].First {
				return
			}
		}
		r.LogE += r.Streams[0].Log
		r.Streams = append([]ratioStream(nil), r.Streams[1:]...)
	}
}

// Mismatch reports whether the alarm has been raised, and a p-value that is valid at all times.
func (r *Ratio) Mismatch() (alarm bool, p float64) {
	p = min(1, portable.Exp(-r.Worst))
	return p <= ratioAlpha, p
}

func (r *Ratio) copy() Ratio {
	y := *r
	y.Seen, y.Expected, y.Streams = slices.Clone(r.Seen), slices.Clone(r.Expected), slices.Clone(r.Streams)
	return y
}
