// Package synth generates synthetic data sets from a seed: those of the tests and the literature,
// and one that resembles tables found in practice.
//
// A data set is a [Spec]: a name, its columns, the share of positives and the distribution of the
// features given the label. A [Generator] draws any number of examples from it:
//
//	g, err := synth.New(synth.G1, 1001)
//	...
//	x := make([]float64, g.Dim())
//	for range 20_000 {
//		positive := g.Next(x)
//		...
//	}
//
// # The data sets
//
//   - g1: ten normal features, positives shifted by 2/√10 in each (Mahalanobis
//     distance 2), 5 % positives. A linear classifier is the right model: the best
//     G-mean, Q-mean, H-mean and minimum of the two rates are all 0.8413.
//   - g3: ten features, positives differ in mean and variance in the first three, 5 %
//     positives. A linear classifier is the wrong model, which costs logistic regression most.
//   - g4: as g3 with 0.6 % positives.
//   - fraud: twelve raw columns of a payments table, none of them scaled, 2.5 % positives.
//
// g1, g3 and g4 have no constant feature: learners have their own bias.
//
// # Determinism
//
// The same name and seed give the same bits on every machine and in every release. The
// generator is SplitMix64 with Box–Muller normals, and the logarithms, exponentials, sines and
// cosines are this package's own because those of package math differ between
// architectures in the last bits. The generator draws the label first, so a
// row's label never depends on a feature's arithmetic.
//
// The seeds of noregret's own checks are 1001, 1002 and 1003 (g1: training, validation,
// test), 3001 to 3003 (g3) and 4001 to 4003 (g4). Nearby seeds give unrelated streams.
package synth

import (
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
)

// Spec describes a data set. Those of this package are variables, which [ByName] finds by name; a
// program may define its own.
type Spec struct {
	// Name is the name of the data set, in lower case.
	Name string
	// Summary is one line for people.
	Summary string
	// Columns are the names of the features in order, unique and not empty.
	Columns []string
	// PositiveRate is the probability of a positive example, in [0, 1].
	PositiveRate float64
	// Features fills x, which has one element per column, for an example with the given label. All
	// randomness must come from g, and no state may be kept between calls.
	Features func(g *Generator, positive bool, x []float64)
}

// Generator draws examples of one data set. It is not safe for concurrent use. Its cost per
// example is that of the normals, about 20 ns each; it does not allocate.
type Generator struct {
	spec     Spec
	src      random.SplitMix64
	spare    float64
	hasSpare bool
}

// New returns the generator of the data set for a seed; every seed is allowed. It returns a
// [noregret.Usage] error if the spec is incomplete: no columns, an empty or duplicate name, a rate
// that is NaN or outside [0, 1], no Features.
func New(spec Spec, seed uint64) (*Generator, error) {
	place := "synth"
	if spec.Name != "" {
		place += " " + spec.Name
	}
	if len(spec.Columns) == 0 {
		return nil, noregret.Errorf(noregret.Usage, place, "the data set has no columns")
	}
	for i, c := range spec.Columns {
		if c == "" || slices.Contains(spec.Columns[:i], c) {
			return nil, noregret.Errorf(noregret.Usage, place,
				"column %d has the name %q: names must be unique and not empty", i+1, c)
		}
	}
	if !(spec.PositiveRate >= 0 && spec.PositiveRate <= 1) {
		return nil, noregret.Errorf(noregret.Usage, place,
			"the rate of positives is %v: it must lie in [0, 1]", spec.PositiveRate)
	}
	if spec.Features == nil {
		return nil, noregret.Errorf(noregret.Usage, place, "the data set has no function Features")
	}
	spec.Columns = slices.Clone(spec.Columns)
	return &Generator{spec: spec, src: random.SplitMix64(seed)}, nil
}

// Dim returns the number of features.
func (g *Generator) Dim() int { return len(g.spec.Columns) }

// Columns returns the names of the features. The slice is a copy.
func (g *Generator) Columns() []string { return slices.Clone(g.spec.Columns) }

// Next draws the next example. It returns the label and overwrites x with the features. It panics
// if x does not have the length [Generator.Dim].
func (g *Generator) Next(x []float64) (positive bool) {
	if len(x) != len(g.spec.Columns) {
		panic("synth: the slice of Next must have the length Dim")
	}
	positive = g.Uniform() < g.spec.PositiveRate
	g.spec.Features(g, positive, x)
	return positive
}

// Uniform draws a number uniform in [0, 1) with 53 random bits.
func (g *Generator) Uniform() float64 { return g.src.Float64() }

// Normal draws a standard normal number by the method of Box and Muller, which makes two normals of
// two uniforms. The second is kept for the next call, even if that is for another example.
func (g *Generator) Normal() float64 {
	if g.hasSpare {
		g.hasSpare = false
		return g.spare
	}
	u1 := 1 - float64(g.Uniform()) // exact, fused or not: Uniform is a multiple of 2^-53
	u2 := g.Uniform()
	r := math.Sqrt(float64(-2 * portable.Log(u1)))
	cos, sin := portable.Turn(u2)
	g.spare, g.hasSpare = float64(r*sin), true
	return float64(r * cos)
}

// LogNormal draws e^(mu + sigma·Z) for a standard normal Z; its median is e^mu. The exponent is
// clamped to ±700.
func (g *Generator) LogNormal(mu, sigma float64) float64 {
	return portable.Exp(max(-700, min(700, mu+float64(sigma*g.Normal()))))
}

// Poisson draws a Poisson count with the given mean, which must lie in [0, 500]; it panics
// otherwise. It uses mean+1 uniforms on average.
func (g *Generator) Poisson(mean float64) float64 {
	if !(mean >= 0 && mean <= 500) {
		panic("synth: the mean of Poisson is outside [0, 500]")
	}
	limit, n := portable.Exp(-mean), 0.0
	for p := g.Uniform(); p > limit; n++ {
		p = float64(p * g.Uniform())
	}
	return n
}

// specs lists the data sets in the order in which help shows them.
func specs() []Spec { return []Spec{G1, G3, G4, Fraud} }

// Names returns the names that [ByName] accepts, in the order of the documentation.
func Names() []string {
	var names []string
	for _, s := range specs() {
		names = append(names, s.Name)
	}
	return names
}

// ByName returns the data set with the given name, or a [noregret.Usage] error that lists the
// names.
func ByName(name string) (Spec, error) {
	for _, s := range specs() {
		if s.Name == name {
			return s, nil
		}
	}
	return Spec{}, noregret.Errorf(noregret.Usage, "",
		"unknown data set %q; %sthe data sets are %s", name, named.DidYouMean(name, Names()),
		strings.Join(Names(), ", "))
}
