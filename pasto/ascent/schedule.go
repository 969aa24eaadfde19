package ascent

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
)

// Schedule is a sequence of numbers by round t = 1, 2, ...: an exploration share ε_t or a step γ_t.
// Make one with [Constant], [PaperExploration], ...
type Schedule struct {
	name string
	f    func(t int) float64
}

// At is the value in round t ≥ 1. It is NaN for other t, and for the zero Schedule.
func (s Schedule) At(t int) float64 {
	if s.f == nil || t < 1 {
		return math.NaN()
	}
	return s.f(t)
}

// String describes the schedule in one line.
func (s Schedule) String() string { return s.name }

// Constant is the schedule v, v, v, ...
func Constant(v float64) Schedule {
	return Schedule{fmt.Sprintf("constant(%v)", v), func(int) float64 { return v }}
}

// PaperExploration is ε_t = 0.1/√(t + 10), as in all of the paper's experiments.
func PaperExploration() Schedule { return InverseRoot(0.1, 10) }

// PaperStep is γ = 0.1/K, as in all of the paper's experiments.
func PaperStep(arms int) Schedule { return Constant(0.1 / float64(arms)) }

// InverseRoot is scale/√(t + shift).
func InverseRoot(scale, shift float64) Schedule {
	return Schedule{fmt.Sprintf("inverse-root(%v,%v)", scale, shift), func(t int) float64 {
		return scale / math.Sqrt(float64(t)+shift)
	}}
}

// TheoremExploration is ε_t = G/√t, at most 3/4, up to where 1/(1−ε) ≤ 1 + 4ε holds, which the
// proof needs. Some of the proofs have √(t+1).
func TheoremExploration(g float64) Schedule {
	return Schedule{fmt.Sprintf("theorem-exploration(%v)", g), func(t int) float64 {
		return min(0.75, g/math.Sqrt(float64(t)))
	}}
}

// TheoremStep is γ = 1/√T for a horizon of T rounds.
func TheoremStep(rounds int) Schedule { return Constant(1 / math.Sqrt(float64(rounds))) }

// Power is scale·t^power, for the schedules of S-SCGD. Powers that are multiples of 1/4 are
// computed with square roots, so they are the same on every machine.
func Power(scale, power float64) Schedule {
	return Schedule{fmt.Sprintf("power(%v,%v)", scale, power), func(t int) float64 {
		return float64(scale * powerOf(t, power))
	}}
}

func powerOf(t int, power float64) float64 {
	x := float64(t)
	n := 4 * power
	if n != math.Trunc(n) || math.Abs(n) > 16 {
		return math.Pow(x, power)
	}
	root, out := math.Sqrt(math.Sqrt(x)), 1.0
	for range int(math.Abs(n)) {
		out *= root
	}
	if n < 0 {
		return 1 / out
	}
	return out
}

// ScheduleFunc makes a schedule of a pure function f. Snapshots contain its name instead of f. If a
// value is out of range, the learner's Observe returns an error and changes nothing: for a step γ_t
// or a tracking share, Observe of round t; for an exploration share ε_t, Observe of round t − 1,
// which computes the distribution of round t.
func ScheduleFunc(name string, f func(t int) float64) Schedule {
	return Schedule{fmt.Sprintf("func(%s)", name), f}
}

// probe lists the rounds at which constructors check a schedule.
var probe = []int{1, 2, 10, 1000, 1_000_000}

func (s Schedule) validate(place string, most float64) error {
	if s.f == nil {
		return noregret.BadInputf(place, "no schedule: make one with Constant, PaperExploration or another function")
	}
	for _, t := range probe {
		if _, err := s.in(place, t, most); err != nil {
			return err
		}
	}
	return nil
}

// in returns the value in round t, or an error unless it is finite and from 0 to most.
func (s Schedule) in(place string, t int, most float64) (float64, error) {
	v := s.At(t)
	if !(v >= 0 && v <= most) || math.IsInf(v, 1) {
		return 0, noregret.BadInputf(place, "%v is %v in round %d: want a finite number from 0 to %v", s, v, t, most)
	}
	return v, nil
}
