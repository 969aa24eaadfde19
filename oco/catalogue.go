package oco

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Problem describes a game as far as learners may know it before the first round.
type Problem struct {
	// Set is the set of the points.
	Set convex.Set
	// Rounds is the horizon T, 0 if it is not known.
	Rounds int
	// Facts are the properties that all losses share; start from [loss.Unknown].
	loss.Facts
}

// Entry is a learner that can be made by name: one of [Learners], or one of your own for play.Run.
type Entry struct {
	// Name is the learner's name.
	Name string
	// Kind is the kind of its game: "convex" or "experts", which is the simplex.
	Kind string
	// Bound is the order of its guarantee, Knows the quantities it requires, and Cost the time of
	// a round.
	Bound, Knows, Cost string
	// Options are what can be set.
	Options []Option
	// Source is where the algorithm comes from.
	Source string

	// Make returns the learner for a problem. The function gives options their values: the given
	// one, which is finite, or else the default; see [Option] for those that the problem
	// determines. Make returns an error for a problem that the learner cannot play.
	Make func(p Problem, option func(name string) float64) (Learner, error)
}

// Option is a numeric option of a learner or of a bandit algorithm. Its value is the given one or
// else Default.
type Option struct {
	Name    string
	Default float64
	// Derived, if not empty, says in words by what the problem determines the value if none is
	// given. Default then does not count, and the value is NaN: Make computes it.
	Derived string
	Help    string
}

// DefaultText is the default as people read it: Derived, or the number.
func (o *Option) DefaultText() string {
	if o.Derived != "" {
		return o.Derived
	}
	return strconv.FormatFloat(o.Default, 'g', -1, 64)
}

// Values returns the function that gives options their values, those given or else the defaults:
// the convention of learners, games and bandit algorithms. A derived option that is not given, and
// a name that is none of the options, has the value NaN.
func Values(options []Option, given map[string]float64) func(name string) float64 {
	return func(name string) float64 {
		if v, ok := given[name]; ok {
			return v
		}
		for i := range options {
			if o := &options[i]; o.Name == name && o.Derived == "" {
				return o.Default
			}
		}
		return math.NaN()
	}
}

// New returns the learner for a problem, with options by name. It returns an error for a problem
// that the learner cannot play and for options that it does not have.
func (e *Entry) New(p Problem, options map[string]float64) (Learner, error) {
	err := named.CheckOptions(e.Name, options, e.Options, func(o *Option) string {
		return o.Name
	}, func(o *Option, v float64) error {
		if !vec.IsFinite(v) {
			return noregret.BadInputf(e.Name+":"+o.Name, "%v: want a finite number", v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.Set == nil {
		return nil, noregret.BadInputf("set", "nil: want a set")
	}
	if e.Make == nil {
		return nil, noregret.BadInputf(e.Name, "Make is nil: a constructor is required")
	}
	l, err := e.Make(p, Values(e.Options, options))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	return l, nil
}

// Find returns the learner with the given name.
func Find(name string) (*Entry, error) {
	return named.Find("learner", name, Learners(), func(e *Entry) string { return e.Name })
}

// known returns an error for a bound that the game does not provide.
func known(what string, v float64) error {
	if !vec.IsFinite(v) || !(v > 0) {
		return noregret.BadInputf(what, "the game gives no bound on it (%v), which this learner must know", v)
	}
	return nil
}

func horizon(p Problem) error {
	if p.Rounds < 1 {
		return noregret.BadInputf("rounds", "the game gives no horizon, which this learner must know")
	}
	return nil
}

func bounded(p Problem) (float64, error) {
	d := p.Set.Diameter()
	if math.IsInf(d, 1) {
		return 0, noregret.BadInputf("set", "%v is unbounded: this learner needs a bounded set", p.Set)
	}
	if d == 0 {
		d = 1 // the set is a single point, so any step size works
	}
	return d, nil
}

func onlySimplex(p Problem) (int, error) {
	s, ok := p.Set.(*convex.Simplex)
	if !ok || s.Sum() != 1 {
		return 0, noregret.BadInputf("set", "%v: this learner plays on the simplex", p.Set)
	}
	return s.Dim(), nil
}

func onlySpace(p Problem) (int, error) {
	if _, ok := p.Set.(*convex.Space); !ok {
		return 0, noregret.BadInputf("set", "%v: this learner plays on the whole space", p.Set)
	}
	return p.Set.Dim(), nil
}

// tunable returns the dimension of the set of a game that says all that a tuned rate depends on:
// the bound on subgradients and the horizon. The function returns that of the sets that the learner
// plays on.
func tunable(p Problem, on func(Problem) (int, error)) (int, error) {
	n, err := on(p)
	if err == nil {
		err = known("lipschitz", p.LipschitzInf)
	}
	if err == nil {
		err = horizon(p)
	}
	return n, err
}

// derived returns the value of an option, or the one that the problem determines.
func derived(o func(string) float64, name string, otherwise float64) float64 {
	if v := o(name); !math.IsNaN(v) {
		return v
	}
	return otherwise
}

func restricted(psi convex.MirrorMap, err error, s convex.Set) (convex.Regularizer, error) {
	if err != nil {
		return nil, err
	}
	return convex.Restrict(psi, s)
}

func quadratic(s convex.Set) (convex.Regularizer, error) {
	psi, err := convex.NewQuadratic(s.Dim())
	return restricted(psi, err, s)
}

// anytime is the weight L·√t/α of the learners that need no horizon.
func anytime(p Problem, o func(string) float64) (Weight, error) {
	if err := known("lipschitz", p.Lipschitz); err != nil {
		return Weight{}, err
	}
	return SqrtWeight(p.Lipschitz / derived(o, "alpha", scaleOf(p.Set))), nil
}

// alpha is the option that anytime reads.
func alpha() Option {
	return Option{Name: "alpha", Derived: "D/√2, or 1", Help: "the scale of ‖u‖"}
}

// Learners lists the learners that can be made by name, in the order of the book.
func Learners() []Entry {
	return slices.Concat(leaders(), descents(), adaptiveDescents(), mirrors(), regularized(), scaleFreeLeaders(),
		composites(), secondOrder(), hinted(), parameterFree(), parameterFreeVariants(),
		expertBettors())
}

// scaleOf is D/√2 for a bounded set, the α that balances the two parts of the bound, and 1 for
// others.
func scaleOf(s convex.Set) float64 {
	if d := s.Diameter(); vec.IsFinite(d) && d > 0 {
		return d / math.Sqrt2
	}
	return 1
}

// hedgeRate is √(2·ln d/(L∞²T)).
func hedgeRate(d int, p Problem) (float64, error) {
	if err := known("lipschitz", p.LipschitzInf); err != nil {
		return 0, err
	}
	if err := horizon(p); err != nil {
		return 0, err
	}
	return math.Sqrt(2*portable.Log(float64(max(d, 2)))/float64(p.Rounds)) / p.LipschitzInf, nil
}
