package confident

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/stat"
)

const (
	// epoch is the ratio of the rounds of two solutions, counted from the last change.
	epoch = 1.05
	// spreadShare is the largest share that all arms have alike for exploration.
	spreadShare = 0.15
	// fewArms is the number of arms up to which exploration does not depend on it.
	fewArms = 4
	// In fewer than fewRounds an arm's first values may all be bad ones.
	fewRounds = 3
	// manyRounds is the number of rounds of an arm from which on its error counts as known.
	manyRounds = 200
	// halvings is how often the caution of hard guardrails is halved where no mixture holds them
	// with all of it.
	halvings = 6
)

// solve computes p⁺, p⁻ and Width. They stay as they are until the error of an arm is known, and
// where a program fails.
func (l *Learner) solve() {
	s, w := &l.s, &l.program
	w.Err = nil
	if !l.ready() {
		return
	}
	l.up, l.down = append(l.up[:0], s.Up...), append(l.down[:0], s.Down...)
	l.move(func(int, int) float64 { return 0 })
	most := w.Range()
	l.deploy(l.down)
	low := w.Value
	l.move(func(k, i int) float64 { return float64(l.options.Optimism * math.Sqrt(s.Sums.doubt(k, i))) })
	w.Maximize(l.up)
	if w.Err != nil {
		return
	}
	s.Width = 1
	if more := w.Value - low; more < most {
		s.Width = max(more, 0) / most
	}
	copy(s.Up, l.up)
	copy(s.Down, l.down)
}

// ready marks the arms that a mixture may have, those with an estimate and its error, and reports
// whether there are any.
func (l *Learner) ready() bool {
	known := l.s.Sums.Freedom > 0 || l.s.Sums.UnitSize != nil
	for k, active := range l.s.Active {
		l.program.Usable[k] = active && l.s.Sums.Rounds[k] > 0 && known
	}
	return slices.Contains(l.program.Usable, true)
}

// deploy computes p⁻ and leaves its cautious value in the program. Where no mixture holds the hard
// guardrails with all their caution, half of it is taken, and so on; where none holds them by the
// estimates, p⁻ is the mixture of least violation.
func (l *Learner) deploy(p []float64) {
	for j := range halvings {
		l.moveDown(math.Ldexp(1, -j))
		if l.program.Maximize(p) {
			return
		}
	}
	l.moveDown(0)
	l.program.Maximize(p)
}

// moveDown moves the estimates down by the caution of their metrics, of which hard guardrails take
// this share.
func (l *Learner) moveDown(share float64) {
	l.move(func(k, i int) float64 {
		z := l.metrics[i].caution
		if l.metrics[i].hard {
			z = float64(share * student(z, l.s.Sums.Rounds[k]-1))
		}
		return -float64(z * math.Sqrt(l.s.Sums.square(k, i)))
	})
}

// student returns the quantile of Student's t that leaves out as much as z does of the normal
// distribution, for 1 degree of freedom or more.
func student(z, free float64) float64 {
	if free > manyRounds {
		return z
	}
	return stat.Student(z, max(free, 1))
}

// move writes the estimates of the usable arms to the program's table, each moved by f in the good
// direction of its metric.
func (l *Learner) move(f func(k, i int) float64) {
	for k, ok := range l.program.Usable {
		if !ok {
			continue
		}
		row := l.program.Table.Arm(k)
		for i := range row {
			x := &l.metrics[i]
			row[i] = min(max(l.s.Sums.Mean[k*len(row)+i]+float64(x.sign*f(k, i)), x.from), x.to)
		}
	}
}

// mix computes the serving mixture: (1 − share)·p⁻ + (share − spread)·p⁺ + spread·uniform. Arms
// that need data of their own have all of it at first, and once all arms have been observed, 1/K
// for each unit of need.
func (l *Learner) mix() {
	s, p := &l.s, l.s.Serving
	share, spread := l.explored()
	floor := max(l.options.Floor, spread)
	share -= spread
	need := 0.0
	for k := range p {
		need += l.need(k)
	}
	own := min(need, 1) // the share of arms that need data
	if s.AllObserved {
		own = need / float64(s.Live)
	}
	for k, v := range s.Down {
		p[k] = float64(float64((1-own)*(1-floor)) * (float64((1-share)*v) + float64(share*s.Up[k])))
		if !s.Active[k] {
			continue
		}
		p[k] += float64((1-own)*floor) / float64(s.Live)
		if n := l.need(k); n > 0 {
			p[k] += float64(own * (n / need))
		}
	}
	l.sampler.Reset()
}

// need is how much arm k needs a share of its own: 1 where it has not been observed, and ½ where it
// has been in fewer than three rounds, once all arms have been observed.
func (l *Learner) need(k int) float64 {
	s := &l.s
	switch n := s.Sums.Rounds[k]; {
	case !s.Active[k]:
		return 0
	case n == 0:
		return 1
	case s.AllObserved && n < fewRounds:
		return 0.5
	}
	return 0
}

// explored returns the share of what explores, and how much of it all arms have alike.
func (l *Learner) explored() (share, spread float64) {
	many := math.Sqrt(max(1, float64(l.s.Live)/fewArms))
	scaled := float64(l.options.Decay * portable.Exp(float64(2*portable.Log(l.s.Width)/3)))
	share = min(l.options.Share, float64(scaled*many))
	return share, min(float64(0.5*share), spreadShare, 0.5*scaled/many)
}
