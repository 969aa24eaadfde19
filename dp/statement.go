package dp

import (
	"fmt"
	"strings"
)

// Version is the version of the mechanisms of this package. It changes whenever a configuration
// gets other noise or another charge than before.
const Version = 1

// A Constant is a public constant of a mechanism, by name and value.
type Constant struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Statement says what a mechanism protects, how much, and what it does not protect, in words and
// numbers for the people whose data it uses and for those who examine it. Its adjacency and unit
// are in Protection. Everything in it is public.
type Statement struct {
	// Mechanism names the algorithm and its noise.
	Mechanism string `json:"mechanism"`
	// Private is false for a mechanism that protects nobody.
	Private bool `json:"private"`
	// Protection is the adjacency and the unit.
	Protection Protection `json:"protection"`
	// Epsilon, Delta and Rho state the budget of the whole run in its accounting.
	Epsilon    float64    `json:"epsilon"`
	Delta      float64    `json:"delta"`
	Rho        float64    `json:"rho"`
	Accounting Accounting `json:"accounting"`
	// Constants are the constants that the claim rests on: clip, horizon, lattice, noise.
	Constants []Constant `json:"constants"`
	// Random names the source of randomness.
	Random string `json:"random"`
	// Version is the version of the mechanisms.
	Version int `json:"version"`
	// Protects and Exposes list, one sentence each, what an observer of all releases cannot and can
	// learn.
	Protects []string `json:"protects"`
	Exposes  []string `json:"exposes"`
	// Warnings lists what weakens the claim.
	Warnings []string `json:"warnings,omitempty"`
}

// String writes the statement as lines of text.
func (s Statement) String() string {
	var b strings.Builder
	if !s.Private {
		b.WriteString("NOT PRIVATE: this mechanism protects nobody.\n")
	}
	fmt.Fprintf(&b, "mechanism: %s\n", s.Mechanism)
	if s.Protection.Records > 0 {
		fmt.Fprintf(&b, "protects: %s\n", s.Protection)
		fmt.Fprintf(&b, "privacy: epsilon = %.6g, delta = %.6g (accounting: %s, rho = %.6g)\n", s.Epsilon, s.Delta,
			s.Accounting, s.Rho)
	}
	for _, c := range s.Constants {
		fmt.Fprintf(&b, "%s: %s\n", c.Name, c.Value)
	}
	fmt.Fprintf(&b, "random: %s\nversion: %d\n", s.Random, s.Version)
	for _, list := range []struct {
		title string
		lines []string
	}{{"protected", s.Protects}, {"not protected", s.Exposes}, {"warnings", s.Warnings}} {
		if len(list.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:\n", list.title)
		for _, line := range list.lines {
			fmt.Fprintf(&b, "  - %s\n", line)
		}
	}
	return b.String()
}

// exposed is what no mechanism of this package protects.
var exposed = []string{
	"the number of records and of steps",
	"the time at which results appear",
	"what the program logs or stores besides the releases",
	"the state of the running process and its checkpoints, which hold exact sums",
	"what the releases say about the population as a whole",
}

// statement fills what all mechanisms share.
func statement(mechanism string, p Protection, b Budget, charge Charge, steps int64, constants ...Constant) Statement {
	s := Statement{
		Mechanism: mechanism, Private: !charge.Insecure, Protection: p, Epsilon: b.epsilon, Delta: b.delta,
		Accounting: b.accounting, Constants: constants, Random: "the operating system's generator (crypto/rand)",
		Version: Version, Exposes: append([]string(nil), exposed...),
	}
	if b.accounting != 0 {
		s.Rho = b.Rho()
	}
	switch {
	case b.accounting == 0:
		s.Random = "none"
		s.Warnings = append(s.Warnings, "without noise: for comparisons only")
		return s
	case charge.Insecure:
		s.Random = "a seed, INSECURE"
		s.Warnings = append(s.Warnings, "noise from a seed protects nobody: for tests only")
	}
	unit := "any one record, whatever its values"
	if p.Records > 1 {
		unit = fmt.Sprintf("all records of any one user with at most %d", p.Records)
		s.Exposes = append(s.Exposes, fmt.Sprintf("users with more than %d records, unless the program enforces the "+
			"limit", p.Records))
	}
	if p.Adjacency == ZeroOut {
		unit += ", compared with its absence"
		s.Warnings = append(s.Warnings, "zero-out adjacency: epsilon is not comparable with that of replace-one "+
			"adjacency")
	}
	s.Protects = []string{unit + ", even from an observer who knows all other records and sees all releases"}
	units := max(1, float64(steps)/float64(max(1, p.Records)))
	s.Warnings = append(s.Warnings, BudgetWarnings(b.epsilon, b.delta, units)...)
	return s
}

// mostEpsilon is the largest ε without a warning.
const mostEpsilon = 10

// BudgetWarnings says what makes the claim of a budget weak for a number of units, such as records
// or users: ε above 10, and δ of 1/units or more. It returns nil if there is nothing to say. A
// warning is no error, as such a budget can be meant.
func BudgetWarnings(epsilon, delta, units float64) (out []string) {
	if epsilon > mostEpsilon {
		out = append(out, fmt.Sprintf("epsilon = %.6g is above %d: what is released may be e^%.6g times as likely "+
			"with "+
			"one unit's data as with other data, which protects hardly anybody", epsilon, mostEpsilon, epsilon))
	}
	if delta >= 1/units {
		out = append(out, fmt.Sprintf("delta = %.3g is at least 1/n = %.3g: a mechanism may reveal one of n units and "+
			"keep such a delta", delta, 1/units))
	}
	return out
}

// constants lists the constants of a lattice.
func (l *Lattice) constants() []Constant {
	return []Constant{
		{"dimension", fmt.Sprint(l.Dim())},
		{"horizon", fmt.Sprintf("at most %d records", l.Horizon())},
		{"clip", fmt.Sprintf("increments are clipped to %s norm %g", l.Norm(), l.Clip())},
		{"lattice", fmt.Sprintf("increments are rounded to multiples of %g", l.Spacing())},
	}
}

// Statement says what the releases of the stream protect.
func (s *Stream) Statement() Statement {
	c := append(s.config.Lattice.constants(),
		Constant{"batch", fmt.Sprintf("at most %d records in a step, %d steps", s.config.Batch, s.Horizon())})
	name := "exact prefix sums without noise"
	if s.config.Kind != zero {
		name = s.config.Kind.String() + " prefix sums with discrete Gaussian noise"
		c = append(c,
			Constant{"sensitivity", fmt.Sprintf("%g", s.config.Protection.Sensitivity(s.config.Lattice.Clip()))},
			Constant{"sigma", fmt.Sprintf("%.6g per draw and coordinate", s.Sigma())})
	}
	records := s.config.Lattice.Horizon()
	if s.config.Sums {
		records = 1 // the horizon is a bound on overflow, not the number of records
	}
	return statement(name, s.config.Protection, s.config.Budget, s.charge, records, c...)
}

// Statement says what the choices protect.
func (s *Selector) Statement() Statement {
	if s.random == nil {
		return statement("the smallest score, without noise", Protection{}, Budget{}, s.charge, 1,
			Constant{"candidates", fmt.Sprint(s.config.Candidates)})
	}
	name := "exponential mechanism"
	if s.config.Noise == Laplace {
		name = "smallest score with discrete Laplace noise"
	}
	c := append(s.config.Lattice.constants(), Constant{"candidates", fmt.Sprint(s.config.Candidates)},
		Constant{"width", fmt.Sprintf("%g", s.config.Width)},
		Constant{"temperature", fmt.Sprintf("%.6g in step 1", s.Temperature(1)*s.config.Lattice.Spacing())})
	st := statement(name, s.config.Protection, s.config.Budget, s.charge, s.config.Lattice.Horizon(), c...)
	st.Exposes = append(st.Exposes, "the exact scores, which must stay secret")
	return st
}
