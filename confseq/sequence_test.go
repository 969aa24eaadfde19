package confseq

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

// TestSequenceSums compares sequences built one by one, by merging and from sums with two passes
// over the data.
func TestSequenceSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-100, 100), 1, 50).Draw(t, "x")
		cut := rapid.IntRange(0, len(xs)).Draw(t, "cut")
		var s, a, b Sequence
		var sum, squares float64
		for i, x := range xs {
			sum += x
			squares += x * x
			part := &a
			if i >= cut {
				part = &b
			}
			for _, q := range []*Sequence{&s, part} {
				if err := q.Add(x); err != nil {
					t.Fatal(err)
				}
			}
		}
		mean := sum / float64(len(xs))
		var m2 float64
		for _, x := range xs {
			m2 += (x - mean) * (x - mean)
		}
		a.Merge(b)
		c, err := FromSums(int64(len(xs)), sum, squares)
		if err != nil {
			t.Fatal(err)
		}
		for what, q := range map[string]Sequence{"added": s, "merged": a, "from sums": c} {
			if q.N != int64(len(xs)) || math.Abs(q.Mean-mean) > 1e-9 || math.Abs(q.M2-m2) > 1e-7*(1+squares) {
				t.Fatalf("%s: %+v, want mean %v and M2 %v", what, q, mean, m2)
			}
		}
	})
}

func TestSequenceRefuses(t *testing.T) {
	s := Sequence{N: 3, Mean: 1, M2: 2}
	for _, x := range []float64{math.NaN(), math.Inf(1), 1e300} {
		if err := s.Add(x); err == nil || s != (Sequence{N: 3, Mean: 1, M2: 2}) {
			t.Errorf("%v: %v, and the sequence is %+v", x, err, s)
		}
	}
	for _, c := range []struct {
		n            int64
		sum, squares float64
	}{{-1, 0, 0}, {0, 1, 0}, {2, 4, 7.9}, {1, math.NaN(), 0}, {1, 0, -1}, {1, 1, math.Inf(1)}} {
		if _, err := FromSums(c.n, c.sum, c.squares); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// coverage returns the number of runs in which the sequence at alpha .05 ever misses the mean,
// checked after each batch, for n observations, and the same number for the ordinary 95 % interval.
func coverage(t *testing.T, runs int, name string, n, batch int, mean float64,
	draw func(r *random.Source) float64,
) (missed, ordinary int) {
	t.Helper()
	for run := range runs {
		r := random.New(uint64(run), name)
		var s Sequence
		a, b := false, false
		for i := 0; i < n; i += batch {
			var sum, squares float64
			for range batch {
				x := draw(r)
				sum += x
				squares += x * x
			}
			q, err := FromSums(int64(batch), sum, squares)
			if err != nil {
				t.Fatal(err)
			}
			s.Merge(q)
			if i > 100 && i/batch%10 != 0 { // fewer checks later, to save time
				continue
			}
			from, to := s.Interval(.05, 0, 1)
			a = a || mean < from || mean > to
			z := 1.96 * math.Sqrt(s.Variance()/float64(s.N))
			b = b || s.N >= 20 && math.Abs(s.Mean-mean) > z
		}
		if a {
			missed++
		}
		if b {
			ordinary++
		}
	}
	return missed, ordinary
}

// TestSequenceCoversAtAllTimes checks the interval from the first observation on, for rare events
// and skewed products of uniform numbers, in batches of any size. The level is exact: at most alpha
// of the runs ever miss.
func TestSequenceCoversAtAllTimes(t *testing.T) {
	testsize.NoRace(t)
	runs, most := 500, 39 // 25 expected at the very most, 39 or more have probability .005
	if testsize.Short() {
		runs, most = 60, 10 // 3, .002
	}
	for _, p := range []float64{.01, .05, .1, .3, .5} {
		for batch, n := range map[int]int{1: 1000, 40: 4000, 1000: 20_000} {
			missed, ordinary := coverage(t, runs, "coin", n, batch, p, func(r *random.Source) float64 {
				if r.Float64() < p {
					return 1
				}
				return 0
			})
			if missed >= most {
				t.Errorf("p = %v in batches of %d: missed in %d of %d runs", p, batch, missed, runs)
			}
			if batch == 1 && ordinary < runs/4 {
				t.Errorf("p = %v: ordinary intervals missed in %d of %d runs only: the test checks nothing", p,
					ordinary,
					runs)
			}
		}
	}
	for factors := 1; factors <= 6; factors++ {
		missed, _ := coverage(t, runs, "skewed", 1000, 1, math.Ldexp(1, -factors), func(r *random.Source) float64 {
			x := 1.0
			for range factors {
				x *= r.Float64()
			}
			return x
		})
		if missed >= most {
			t.Errorf("products of %d uniform numbers: missed in %d of %d runs", factors, missed, runs)
		}
	}
}

// TestSequencePower bounds the price of being valid at all times. In the median of
// 100 runs a rate of .10 is distinguished from a limit of .05 by 600 observations, one of .02 by
// 800, and the interval of a mean of low variance is shorter than .08 of its range by 400.
func TestSequencePower(t *testing.T) {
	coin := func(p float64) func(r *random.Source) float64 {
		return func(r *random.Source) float64 {
			if r.Float64() < p {
				return 1
			}
			return 0
		}
	}
	for _, c := range []struct {
		name string
		draw func(r *random.Source) float64
		done func(from, to float64) bool
		most int
	}{
		{"beyond", coin(.1), func(from, _ float64) bool { return from > .05 }, 600},
		{"below", coin(.02), func(_, to float64) bool { return to < .05 }, 800},
		{"narrow", func(r *random.Source) float64 {
			return .5 + .05*(r.Float64()-.5)
		}, func(from, to float64) bool { return to-from < .08 }, 400},
	} {
		var needed []int
		for run := range 100 {
			r, n := random.New(uint64(run), c.name), 0
			var s Sequence
			for done := false; !done && n < 5000; {
				n++
				if err := s.Add(c.draw(r)); err != nil {
					t.Fatal(err)
				}
				done = c.done(s.Interval(.05, 0, 1))
			}
			needed = append(needed, n)
		}
		slices.Sort(needed)
		t.Logf("%s: median %d observations, 90 %% by %d", c.name, needed[50], needed[90])
		if needed[50] > c.most {
			t.Errorf("%s: it took %d observations in the median, want at most %d", c.name, needed[50], c.most)
		}
	}
}

// TestAsymptoticSequence checks that without a range the level holds for observations that are not
// too skewed, and that the interval of few or equal observations is trivial.
func TestAsymptoticSequence(t *testing.T) {
	testsize.NoRace(t)
	for name, g := range map[string]struct {
		low, mean float64
		draw      func(r *random.Source) float64
	}{
		"normal":      {math.Inf(-1), 0, func(r *random.Source) float64 { return stat.Normal(r) }},
		"exponential": {math.Inf(-1), 1, func(r *random.Source) float64 { return -math.Log(1 - r.Float64()) }},
		"rare counts": {0, .01, func(r *random.Source) float64 { return math.Floor(r.Float64() + .01) }},
	} {
		missed := 0
		for run := range 300 {
			r := random.New(uint64(run), name)
			var s Sequence
			for range 4000 {
				if err := s.Add(g.draw(r)); err != nil {
					t.Fatal(err)
				}
				from, to := s.Interval(.05, g.low, math.Inf(1))
				if s.N < burnIn && (from != g.low || !math.IsInf(to, 1)) {
					t.Fatalf("%s: [%v, %v] after %d observations", name, from, to, s.N)
				}
				if from > g.mean || to < g.mean {
					missed++
					break
				}
			}
		}
		if missed >= 26 { // of 300: 15 expected at alpha
			t.Errorf("%s: missed in %d of 300 runs", name, missed)
		}
	}
}

// TestIntervalEdges checks few observations, no variance and an infinite end.
func TestIntervalEdges(t *testing.T) {
	var s Sequence
	if a, b := s.Interval(.05, -1, 2); a != -1 || b != 2 {
		t.Errorf("the interval of no observations is [%v, %v]", a, b)
	}
	for n := 1; n <= 3; n++ {
		_ = s.Add(1)
		if a, b := s.Interval(.05, -1, 2); !(a >= -1 && a < 0 && b == 2) {
			t.Errorf("the interval of %d equal observations is [%v, %v]", n, a, b)
		}
	}
	wide, narrow := Sequence{N: 10, Mean: 0, M2: 9}, Sequence{N: 1000, Mean: 0, M2: 999}
	for _, end := range []float64{5, math.Inf(1)} {
		a1, b1 := wide.Interval(.05, -end, end)
		a2, b2 := narrow.Interval(.05, -end, end)
		if !(b2-a2 < b1-a1) || !(a2 <= 0 && 0 <= b2) {
			t.Errorf("with a hundred times the data the interval has length %v, before %v", b2-a2, b1-a1)
		}
		if a, b := narrow.Interval(.01, -end, end); !(b-a > b2-a2) {
			t.Errorf("with more confidence the interval is narrower, %v", b-a)
		}
	}
	for _, n := range []int64{1, 1 << 20, 1 << 60} {
		q := Sequence{N: n, Mean: .3, M2: .21 * float64(n)}
		if a, b := q.Interval(.05, 0, 1); !(a >= 0 && a <= .3 && b >= .3 && b <= 1) {
			t.Errorf("[%v, %v] of %d observations", a, b, n)
		}
	}
}

// TestBoundsByHand compares the exact bounds with their defining inequalities, computed by package
// math: just inside the interval no supermartingale has reached its bound, and just outside one
// has.
func TestBoundsByHand(t *testing.T) {
	reached := func(n, mean, m2, mu, alpha float64) bool {
		total := 0.0
		for j := range lambdas {
			total += 1 / float64(j+2)
		}
		for j := range lambdas {
			bar := math.Log(4 * total * float64(j+2) / alpha)
			l := math.Ldexp(4, -j)
			if l*n*mean-n*math.Log1p(mu*math.Expm1(l)) >= bar {
				return true
			}
			l = math.Ldexp(.5, -j)
			if l*n*(mean-mu)-(-math.Log1p(-l)-l)*(m2+n*(mean-mu)*(mean-mu)) >= bar {
				return true
			}
		}
		return false
	}
	rapid.Check(t, func(t *rapid.T) {
		n := float64(rapid.IntRange(1, 100_000).Draw(t, "n"))
		mean := rapid.Float64Range(0, 1).Draw(t, "mean")
		m2 := n * mean * (1 - mean) * rapid.Float64Range(0, 1).Draw(t, "spread")
		alpha := rapid.Float64Range(1e-6, .5).Draw(t, "alpha")
		low := lowerBound(n, mean, m2, math.Log(alpha))
		if low > 1e-9 && !reached(n, mean, m2, low*(1-1e-9)-1e-12, alpha) {
			t.Fatalf("%v is outside, but no supermartingale has reached its bound there", low)
		}
		if low < mean-1e-9 && reached(n, mean, m2, low*(1+1e-9)+1e-9, alpha) {
			t.Fatalf("%v is inside, but a bound was reached above it", low)
		}
	})
}

// TestMixtureRadius: the normal mixture's boundary is 0.0960640193 for n = 1000, s² = 1, ρ = 100
// and α = 0.05. [Sequence] has no option ρ: it has the same boundary with its own,
// stated in its comments.
func TestMixtureRadius(t *testing.T) {
	boundary := func(n, variance, rho, alpha float64) float64 {
		v := n * variance
		return math.Sqrt((v+rho)*math.Log((v+rho)/(rho*alpha*alpha))) / n
	}
	if got := boundary(1000, 1, 100, .05); math.Abs(got-.0960640193) > 1e-10 {
		t.Errorf("the boundary is %.12g, want 0.0960640193", got)
	}
	for _, n := range []int64{200, 1000, 50_000} {
		for _, alpha := range []float64{.05, 1e-4} {
			const mean, variance = 3, 2.25
			s := Sequence{N: n, Mean: mean, M2: variance * float64(n-1)}
			from, to := s.Interval(alpha, math.Inf(-1), math.Inf(1))
			l := 2 * math.Log(1/alpha)
			want := boundary(float64(n), variance, 1000*variance/(l+math.Log(1+l)), alpha)
			if math.Abs(mean-from-want) > 1e-12 || math.Abs(to-mean-want) > 1e-12 {
				t.Errorf("n = %d, α = %v: [%v, %v], want %v ± %v", n, alpha, from, to, mean, want)
			}
		}
	}
}
