package aggregate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
)

// Range is the range of a metric's values, which are clamped to it. It must not be chosen by
// looking at the data.
type Range struct{ Low, High float64 }

// Config declares [Sums]. Nothing in it may depend on the data. Begin with [DefaultConfig].
type Config struct {
	// Arms and Metrics are what a round has sums of: Arms·len(Metrics) numbers, at most 2^20. All
	// metrics of a decision are protected together, and noise grows with √len(Metrics).
	Arms    int
	Metrics []Range
	// Contribution is the largest number of decisions of one unit that count in the whole run, 1 to
	// 2^20. Noise is proportional to it. The caller enforces it.
	Contribution int
	// Rounds is the largest number of rounds.
	Rounds int64
	// Batch is the largest number of decisions in a round, 1 to 2^31 − 1. Smaller numbers leave
	// more bits for values: see [Sums.Resolution]. The caller enforces it.
	Batch int64
	// Epsilon and Delta are the budget of the whole run, in Gaussian differential privacy. Delta
	// should be far below 1 over the number of units.
	Epsilon, Delta float64
	// Kind is the noise.
	Kind dp.StreamKind
}

// DefaultConfig returns a configuration for rounds of at most 2^24 decisions. Its noise is
// [dp.SquareRoot], the least, while the state stays below 8 MiB (Arms·len(Metrics)·Rounds up to
// 2^19, and at most 2^20 rounds), and [dp.Honaker] above. Contribution, Epsilon and Delta have no
// default: the caller must set them.
func DefaultConfig(arms int, metrics []Range, rounds int64) Config {
	c := Config{Arms: arms, Metrics: metrics, Rounds: rounds, Batch: 1 << 24, Kind: dp.Honaker}
	if rounds >= 1 && rounds <= mostSteps && int64(arms*len(metrics)) <= mostHistory/rounds {
		c.Kind = dp.SquareRoot
	}
	return c
}

const (
	mostNumbers = 1 << 20
	// mostHistory is the largest number of values that the square-root mechanism keeps by default,
	// 16 bytes each, and mostSteps its largest number of steps.
	mostHistory = 1 << 19
	mostSteps   = 1 << 20
	// Values are rounded to between 2^leastBits and 2^mostBits integers on each side of 0.
	leastBits, mostBits = 7, 20
)

// Sums releases the noisy sums of a run. It is not safe for concurrent use.
type Sums struct {
	config Config
	stream *dp.Stream
	limit  int64 // L
}

// New returns sums without rounds. An error names the field of the configuration and what is
// allowed; it wraps one of the errors of package dp where the field is one of dp's. It takes
// O(Rounds) for dp.SquareRoot.
func New(c Config, opts ...dp.Option) (*Sums, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Metrics = slices.Clone(c.Metrics)
	budget, err := dp.GDPBudget(c.Epsilon, c.Delta)
	if err != nil {
		return nil, err
	}
	for bits := mostBits; ; bits-- {
		s := &Sums{config: c, limit: 1 << bits}
		s.stream, err = s.newStream(budget, opts)
		if err == nil {
			return s, nil
		}
		if bits == leastBits || !errors.Is(err, dp.ErrLattice) {
			return nil, err
		}
	}
}

// NewWithoutNoise returns the same sums without noise, which protect nobody, for comparisons.
// Epsilon and Delta count for nothing. A ledger refuses the charge, and the statement says why.
func NewWithoutNoise(c Config) (*Sums, error) {
	c.Epsilon, c.Delta = 1, 1e-6
	s, err := New(c)
	if err != nil {
		return nil, err
	}
	s.stream, err = dp.NewZeroStream(s.stream.Lattice(), int(s.config.Batch))
	return s, err
}

// check returns an error that names the first field out of its range. The stream checks Kind.
func (c Config) check() error {
	m := len(c.Metrics)
	switch {
	case c.Arms < 1 || c.Arms > mostNumbers:
		return noregret.BadInputf("arms", "%d, want 1 to %d", c.Arms, mostNumbers)
	case m < 1 || m > mostNumbers/c.Arms:
		return noregret.BadInputf("metrics", "%d for %d arms, want 1 or more and at most %d sums", m, c.Arms,
			mostNumbers)
	case c.Contribution < 1 || c.Contribution > 1<<20:
		return noregret.BadInputf("contribution", "%d decisions of a unit, want 1 to 2^20: %w", c.Contribution,
			dp.ErrUnitMismatch)
	case c.Batch < 1 || c.Batch > math.MaxInt32:
		return noregret.BadInputf("batch", "%d decisions in a round, want 1 to %d: %w", c.Batch, math.MaxInt32,
			dp.ErrHorizon)
	case c.Rounds < 1 || c.Rounds > dp.MaxHorizon/c.Batch:
		return noregret.BadInputf("rounds", "%d, want 1 to %d with at most %d decisions each: %w", c.Rounds,
			dp.MaxHorizon/c.Batch, c.Batch, dp.ErrHorizon)
	}
	for i, r := range c.Metrics {
		if w := r.High - r.Low; !(w > 0) || math.IsInf(w, 1) || !(w/2/(1<<mostBits) > 0) {
			return noregret.BadInputf(fmt.Sprintf("metrics[%d]", i), "range [%g, %g], want finite numbers in "+
				"order: %w", r.Low, r.High, dp.ErrBound)
		}
	}
	return nil
}

// newStream returns the stream for values from −L to L.
func (s *Sums) newStream(budget dp.Budget, opts []dp.Option) (*dp.Stream, error) {
	c := &s.config
	lattice, err := dp.NewIntegerLattice(c.Arms*len(c.Metrics), c.Rounds*c.Batch, norm(len(c.Metrics), s.limit))
	if err != nil {
		return nil, err
	}
	return dp.NewStream(dp.StreamConfig{
		Kind: c.Kind, Lattice: lattice, Batch: int(c.Batch), Sums: true, Budget: budget,
		Protection: dp.PerUser(c.Contribution),
	}, opts...)
}

// norm is ⌈limit·√m⌉, exactly: the largest norm of m integers from −limit to limit.
func norm(m int, limit int64) uint64 {
	square := uint64(m) * uint64(limit) * uint64(limit) // at most 2^60
	n := uint64(math.Sqrt(float64(square)))
	for n > 0 && (n-1)*(n-1) >= square {
		n--
	}
	for n*n < square {
		n++
	}
	return n
}

// Quantize writes the values of one decision, one of each metric, as integers from −L to L: a value
// is clamped to its range, centred at the midpoint and rounded to the nearest integer, half to
// even. A value that is NaN becomes 0, the midpoint. It is deterministic and panics if the lengths
// are not the number of metrics, which is public.
func (s *Sums) Quantize(values []float64, out []int64) {
	if len(values) != len(s.config.Metrics) || len(out) != len(values) {
		panic(fmt.Sprintf("aggregate: Quantize of lengths %d and %d with %d metrics", len(values), len(out),
			len(s.config.Metrics)))
	}
	for i, v := range values {
		if out[i] = 0; v == v {
			r := s.config.Metrics[i]
			x := (min(max(v, r.Low), r.High) - r.midpoint()) / r.half()
			out[i] = int64(math.RoundToEven(min(max(x, -1), 1) * float64(s.limit)))
		}
	}
}

// midpoint is the middle of the range, and half its half width.
func (r Range) midpoint() float64 { return float64(r.Low/2) + float64(r.High/2) }

func (r Range) half() float64 { return float64(r.High/2) - float64(r.Low/2) }

// Step ends a round. It takes the exact sums of what [Sums.Quantize] wrote for the decisions of the
// round, arm by arm: that of arm k and metric i is at k·M + i. It writes the noisy sums over all
// rounds so far to out, in the order of sums and in the metrics' units about their midpoints: Σ
// (value − midpoint) + noise. A round without decisions has sums of 0; its step is made all the
// same.
//
// The errors are dp.ErrDimension, dp.ErrHorizon after the last round, dp.ErrClosed, and dp.ErrBound
// for a sum that Batch decisions cannot have, which a caller that adds integers of Quantize never
// sees. The state is unchanged on error. It takes O(K·M) and memory O(1), but O(K·M·t) in round t,
// and as much memory, for dp.SquareRoot.
func (s *Sums) Step(sums []int64, out []float64) error {
	most := s.limit * s.config.Batch
	for _, v := range sums {
		if v > most || v < -most {
			return noregret.BadInputf("sums", "one is outside ±%d, which %d decisions cannot exceed: %w", most,
				s.config.Batch, dp.ErrBound)
		}
	}
	if err := s.stream.StepSum(sums, out); err != nil {
		return err
	}
	m := len(s.config.Metrics)
	for j := range out {
		out[j] *= s.Resolution(j % m)
	}
	return nil
}

// Config returns the configuration.
func (s *Sums) Config() Config {
	c := s.config
	c.Metrics = slices.Clone(c.Metrics)
	return c
}

// Limit returns L, the largest integer that [Sums.Quantize] writes.
func (s *Sums) Limit() int64 { return s.limit }

// Resolution returns what one integer stands for in a metric, in the metric's units: rounding moves
// a value by at most half of it, and moves neither end of the range nor its midpoint.
func (s *Sums) Resolution(metric int) float64 {
	return s.config.Metrics[metric].half() / float64(s.limit)
}

// Midpoint returns the midpoint of the metric's range. The mean of n decisions with the released
// sum S is Midpoint + S/n.
func (s *Sums) Midpoint(metric int) float64 { return s.config.Metrics[metric].midpoint() }

// Rounds returns the number of rounds so far.
func (s *Sums) Rounds() int64 { return s.stream.Steps() }

// Deviation returns the standard deviation of the noise in the sums of a metric that round t
// releases, in the metric's units; 0 for t = 0. It is the same for all arms, whose noise is
// independent, as that of metrics is. It is public: it depends on t only.
func (s *Sums) Deviation(t int64, metric int) float64 {
	if t <= 0 {
		return 0
	}
	return s.stream.Deviation(t) * s.Resolution(metric)
}

// Between returns an upper bound on the standard deviation of the noise in the difference of the
// sums that rounds t and earlier release, in the metric's units. Noises of two rounds are never
// negatively correlated, in any kind of stream, so that the variance of their difference is at most
// the sum of their variances. It is the bound for a single difference; differences of one arm
// cancel in their sum, as they add up to the last release.
func (s *Sums) Between(earlier, t int64, metric int) float64 {
	if earlier >= t {
		return 0
	}
	return math.Hypot(s.Deviation(earlier, metric), s.Deviation(t, metric))
}

// Charge returns what the whole run costs, in full from the first round on.
func (s *Sums) Charge() dp.Charge { return s.stream.Charge() }

// Private reports whether the releases are private: there is noise, and from the system's
// generator.
func (s *Sums) Private() bool { return s.stream.Private() }

// Statement says what the releases protect and what they do not.
func (s *Sums) Statement() dp.Statement {
	c, st := &s.config, s.stream.Statement()
	st.Mechanism = "sums of feedback by arm and metric: " + st.Mechanism
	if st.Private || st.Protection.Records > 0 {
		st.Protects = []string{fmt.Sprintf("the values of a unit's feedback in all metrics, in at most %d of its "+
			"decisions over the run, even from an observer who knows all other values and sees all releases",
			c.Contribution)}
		st.Exposes = append(st.Exposes,
			"that a unit took part, the arms and rounds of its decisions, and the number of decisions of each arm "+
				"and round",
			fmt.Sprintf("units with more than %d decisions that count, unless the program enforces the limit",
				c.Contribution))
	}
	st.Constants = append(st.Constants,
		dp.Constant{Name: "arms", Value: fmt.Sprint(c.Arms)},
		dp.Constant{Name: "rounds", Value: fmt.Sprintf("at most %d", c.Rounds)},
		dp.Constant{Name: "contribution", Value: fmt.Sprintf("at most %d decisions of a unit", c.Contribution)})
	for i, r := range c.Metrics {
		st.Constants = append(st.Constants, dp.Constant{
			Name:  fmt.Sprintf("metric %d", i),
			Value: fmt.Sprintf("clamped to [%g, %g], rounded to multiples of %g", r.Low, r.High, s.Resolution(i)),
		})
	}
	return st
}

// Close erases the sums and the noise from memory. Later steps return dp.ErrClosed.
func (s *Sums) Close() { s.stream.Close() }
