package compare

import (
	"bytes"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// sums returns what n units of an arm brought, with the given mean and the exact variance 1 − 1/n.
func sums(arm int, n, mean float64) Sums { return Sums{Arm: arm, N: n, X: mean, XX: n - 1} }

func add(t interface{ Fatal(...any) }, s *Store, metric int, round []Sums) {
	if err := s.Add(metric, round); err != nil {
		t.Fatal(err)
	}
}

func newStore(t interface{ Fatal(...any) }, arms int, metrics ...Metric) *Store {
	s, err := New(arms, metrics)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func near(t interface {
	Helper()
	Errorf(string, ...any)
}, what string, got, want, tol float64,
) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestTwoArms: without effects of rounds the contrast of two arms is the difference of means, with
// the variance σ²(1/n_0 + 1/n_1); effects that all arms of a round share change nothing.
func TestTwoArms(t *testing.T) {
	counts := [][2]float64{{100, 300}, {100, 300}, {100, 300}}
	for _, shared := range []float64{0, 1000} {
		s, n := newStore(t, 2, Metric{}), [2]float64{}
		var sum [2]float64
		for i, c := range counts {
			u := shared * float64(i*i)
			y := [2]float64{float64(i) / 10, 0.5 + float64(i)/7}
			add(t, s, 0, []Sums{sums(0, c[0], y[0]+u), sums(1, c[1], y[1]+u)})
			for k := range n {
				n[k] += c[k]
				sum[k] += c[k] * y[k]
			}
		}
		var e Contrasts
		s.Contrasts(&e, 0, 0, 0)
		tol := 1e-12
		if shared > 0 {
			tol = 1e-9
		}
		near(t, "the contrast", e.Delta[1], sum[1]/n[1]-sum[0]/n[0], tol)
		near(t, "its variance", e.Variance[1], e.Scatter*(1/n[0]+1/n[1]), tol)
	}
}

// random rounds of arms with their weights, some arms absent.
func randomRounds(r *random.Source, arms, rounds int) [][]weighted {
	list := make([][]weighted, rounds)
	for i := range list {
		for k := range arms {
			if k > 0 && r.Float64() < 0.3 {
				continue
			}
			n := math.Ceil(1000 * r.Float64())
			list[i] = append(list[i], weighted{
				arm: k, n: n, w: n * (0.5 + r.Float64()), level: true,
				y: [2]float64{float64(i) + stat.Normal(r), float64(k) + stat.Normal(r)},
			})
		}
	}
	return list
}

// TestLeastSquares compares contrasts and covariances with generalized least squares on dummies of
// arms and rounds, by gonum's QR.
func TestLeastSquares(t *testing.T) {
	r := random.New(1, "least squares")
	for design := range 50 {
		arms, rounds := 2+design%6, 3+design%9
		list := randomRounds(r, arms, rounds)
		keep := []float64{1, 0.9}[design%2]
		sh := shape{pairs: true, parts: 2}
		m := memory{keep: keep, v: make([]float64, sh.arm(arms))}
		rows := 0
		for _, round := range list {
			m.add(sh, 0, round)
			rows += len(round)
		}
		x, y, at := mat.NewDense(rows, rounds+arms-1, nil), mat.NewDense(rows, 2, nil), 0
		for i, round := range list {
			root := math.Pow(keep, float64(rounds-1-i))
			for _, o := range round {
				w := math.Sqrt(o.w * root)
				x.Set(at, i, w)
				if o.arm > 0 {
					x.Set(at, rounds+o.arm-1, w)
				}
				y.Set(at, 0, w*o.y[0])
				y.Set(at, 1, w*o.y[1])
				at++
			}
		}
		var qr mat.QR
		var beta, gram, inverse mat.Dense
		qr.Factorize(x)
		if qr.SolveTo(&beta, false, y) != nil {
			continue // an arm was never beside another
		}
		gram.Mul(x.T(), x)
		if err := inverse.Inverse(&gram); err != nil {
			continue
		}
		var e Contrasts
		e.solve(sh, &m, arms, rounds)
		e.between(&m, arms, rounds)
		const c = 0.7
		e.Combine(c)
		product, p := make([]float64, arms), make([]float64, arms)
		for j := 1; j < arms; j++ {
			a := rounds + j - 1
			near(t, "a contrast", e.Delta[j], beta.At(a, 0)-c*beta.At(a, 1), 1e-9)
			clear(p)
			p[j] = 1
			e.Product(product, p)
			for k := 1; k < arms; k++ {
				want := e.variance() * inverse.At(a, rounds+k-1)
				near(t, "a covariance", e.Covariance(j, k), want, 1e-9)
				near(t, "a product", product[k], want, 1e-9)
			}
			near(t, "a variance", e.Variance[j], e.variance()*inverse.At(a, a), 1e-9)
		}
		// The scatter is that of the residuals.
		var fit mat.Dense
		fit.Mul(x, &beta)
		rest := 0.0
		for i := range rows {
			d := (y.At(i, 0) - fit.At(i, 0)) - c*(y.At(i, 1)-fit.At(i, 1))
			rest += d * d
		}
		free := 0.0
		for i, round := range list {
			free += float64(len(round)-1) * math.Pow(keep, float64(rounds-1-i))
		}
		phi := (rest+20)/(max(free-float64(arms)+1, 0)+20) - math.Sqrt(2/free)
		near(t, "φ", e.Scatter, max(phi, 1), 1e-9)
		// The scatter of rounds is that of their adjusted means.
		q, sum, mass := 0.0, 0.0, 0.0
		for i, round := range list {
			u, w, f := 0.0, 0.0, math.Pow(keep, float64(rounds-1-i))
			for _, o := range round {
				v := o.y[0] - c*o.y[1]
				if o.arm > 0 {
					v -= beta.At(rounds+o.arm-1, 0) - c*beta.At(rounds+o.arm-1, 1)
				}
				u += o.w * v
				w += o.w
			}
			q += f * u * u / w
			sum += f * u
			mass += f * w
		}
		if keep == 1 {
			free := float64(rounds - 1)
			tau := math.Sqrt(max(q-sum*sum/mass-free-math.Sqrt(2*free), 0) / (e.mass - e.mass2/e.mass))
			near(t, "τ", e.tau, tau, 1e-9)
		}
	}
}

// TestDiscount compares the discounted sums of three rounds with those by hand.
func TestDiscount(t *testing.T) {
	r := random.New(2, "discount")
	list := randomRounds(r, 3, 3)
	sh := shape{pairs: true, parts: 1}
	m := memory{keep: 0.75, v: make([]float64, sh.arm(3))}
	want := make([]float64, len(m.v))
	for i, round := range list {
		m.add(sh, 0, round)
		one := memory{keep: 1, v: make([]float64, len(m.v))}
		one.add(sh, 0, round)
		f := math.Pow(0.75, float64(2-i))
		for j, v := range one.v {
			if j == atNN || j == atSS {
				v *= f
			}
			want[j] += f * v
		}
	}
	for j, v := range m.v {
		near(t, "a sum", v, want[j], 1e-12)
	}
}

// TestDiscountedVariance: the variance of a contrast from rounds that are alike is that of the sum
// of their contrasts with the weights that they have.
func TestDiscountedVariance(t *testing.T) {
	s := newStore(t, 2, Metric{})
	for range 10 {
		add(t, s, 0, []Sums{sums(0, 100, 1), sums(1, 300, 2)})
	}
	for memory := 1; memory < Memories; memory++ {
		var e Contrasts
		s.Contrasts(&e, 0, memory, 0)
		sum, squares, f := 0.0, 0.0, 1.0
		for range 10 {
			sum += f
			squares += f * f
			f *= 1 - 1/float64(Length(memory))
		}
		near(t, "the share of the variance", e.Variance[1]/((1.0/100+1.0/300)*squares/(sum*sum)), 1, 1e-9)
	}
}

// TestMerge: the sums of some rounds and those of the rounds after them make the sums of all.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arms, rounds := rapid.IntRange(2, 5).Draw(t, "arms"), rapid.IntRange(0, 8).Draw(t, "rounds")
		cut := rapid.IntRange(0, rounds).Draw(t, "cut")
		sh := shape{pairs: rapid.Bool().Draw(t, "pairs"), parts: rapid.IntRange(1, 2).Draw(t, "parts")}
		keep := rapid.SampledFrom([]float64{1, 0.5, 0.9375}).Draw(t, "keep")
		fresh := func() *memory { return &memory{keep: keep, v: make([]float64, sh.arm(arms))} }
		all, first, later := fresh(), fresh(), fresh()
		r := random.New(rapid.Uint64().Draw(t, "seed"), "merge")
		for i, round := range randomRounds(r, arms, rounds) {
			all.add(sh, 0, round)
			if i < cut {
				first.add(sh, 0, round)
			} else {
				later.add(sh, 0, round)
			}
		}
		first.merge(later, rounds-cut)
		for j, v := range first.v {
			near(t, "a sum", v, all.v[j], 1e-9)
		}
	})
}

// drawRounds draws rounds of a store.
func drawRounds(r *random.Source, arms, rounds int) [][]Sums {
	list := make([][]Sums, rounds)
	for i := range list {
		for k := range arms {
			if k > 0 && r.Float64() < 0.2 {
				continue
			}
			n := math.Ceil(2 + 500*r.Float64())
			list[i] = append(list[i], Sums{
				Arm: k, N: n, X: 1 + float64(k)/10 + stat.Normal(r)/math.Sqrt(n), XX: (n - 1) * (0.5 + r.Float64()),
			})
		}
	}
	return list
}

// TestOrder: the order of the arms in a round, and their numbering but for the control, do not
// matter.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arms := rapid.IntRange(2, 6).Draw(t, "arms")
		names := rapid.Permutation(count(1, arms)).Draw(t, "names")
		r := random.New(rapid.Uint64().Draw(t, "seed"), "order")
		a, b := newStore(t, arms, Metric{}), newStore(t, arms, Metric{})
		for _, round := range drawRounds(r, arms, 20) {
			add(t, a, 0, round)
			other := make([]Sums, 0, len(round))
			for i := len(round) - 1; i >= 0; i-- {
				o := round[i]
				if o.Arm > 0 {
					o.Arm = names[o.Arm-1]
				}
				other = append(other, o)
			}
			add(t, b, 0, other)
		}
		var x, y Chosen
		a.Choose(&x, 0, 0)
		b.Choose(&y, 0, 0)
		for k := 1; k < arms; k++ {
			j := names[k-1]
			if x.Known[k] != y.Known[j] || x.Memory[k] != y.Memory[j] {
				t.Fatalf("arm %d: known %v in memory %d, as arm %d %v in %d", k, x.Known[k], x.Memory[k], j, y.Known[j],
					y.Memory[j])
			}
			near(t, "a contrast", y.Delta[j], x.Delta[k], 1e-9)
			near(t, "an error", y.Error[j], x.Error[k], 1e-9)
		}
		near(t, "the level", y.Level.Mean, x.Level.Mean, 1e-9)
	})
}

func count(from, to int) []int {
	var list []int
	for ; from < to; from++ {
		list = append(list, from)
	}
	return list
}

// TestRoundEffects: what all arms of a round have in common does not move a contrast.
func TestRoundEffects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arms := rapid.SampledFrom([]int{2, 4, 130}).Draw(t, "arms")
		r := random.New(rapid.Uint64().Draw(t, "seed"), "effects")
		a, b := newStore(t, arms, Metric{}), newStore(t, arms, Metric{})
		for _, round := range drawRounds(r, arms, 15) {
			add(t, a, 0, round)
			u := stat.Normal(r)
			for i := range round {
				round[i].X += u
			}
			add(t, b, 0, round)
		}
		for memory := range Memories {
			var x, y Contrasts
			a.Contrasts(&x, 0, memory, 0)
			b.Contrasts(&y, 0, memory, 0)
			for k := range arms {
				near(t, "a contrast", y.Delta[k], x.Delta[k], 1e-9)
			}
		}
	})
}

// TestBesideControl: two arms have the same contrast whether all pairs are compared or not.
func TestBesideControl(t *testing.T) {
	r := random.New(3, "control")
	few, many := newStore(t, 2, Metric{Ratio: true}), newStore(t, 130, Metric{Ratio: true})
	for range 30 {
		round := []Sums{
			{Arm: 0, N: 300, X: 2 + stat.Normal(r), XX: 200, Y: 4, YY: 300, XY: 50},
			{Arm: 1, N: 100, X: 2 + stat.Normal(r), XX: 90, Y: 5, YY: 100, XY: 10},
		}
		add(t, few, 0, round)
		add(t, many, 0, round)
	}
	for memory := range Memories {
		var x, y Contrasts
		few.Contrasts(&x, 0, memory, 0.4)
		many.Contrasts(&y, 0, memory, 0.4)
		near(t, "the contrast", y.Delta[1], x.Delta[1], 1e-9)
		near(t, "its variance", y.Variance[1], x.Variance[1], 1e-9)
		near(t, "φ", y.Scatter, x.Scatter, 1e-9)
	}
}

// TestSumsMerge compares merged sums with those of all units.
func TestSumsMerge(t *testing.T) {
	r := random.New(4, "sums")
	of := func(x, y []float64) Sums {
		s := Sums{N: float64(len(x))}
		for i := range x {
			s.X += x[i] / s.N
			s.Y += y[i] / s.N
		}
		for i := range x {
			s.XX += (x[i] - s.X) * (x[i] - s.X)
			s.YY += (y[i] - s.Y) * (y[i] - s.Y)
			s.XY += (x[i] - s.X) * (y[i] - s.Y)
		}
		return s
	}
	x, y := make([]float64, 100), make([]float64, 100)
	stat.Normals(x, r)
	stat.Normals(y, r)
	got, want := of(x[:30], y[:30]), of(x, y)
	got.Merge(of(x[30:], y[30:]))
	got.Merge(Sums{})
	for _, v := range [][2]float64{
		{got.N, want.N}, {got.X, want.X}, {got.Y, want.Y}, {got.XX, want.XX}, {got.YY, want.YY}, {got.XY, want.XY},
	} {
		near(t, "a sum", v[0], v[1], 1e-12)
	}
}

// TestFewUnits: one huge unit moves neither the level nor the contrast by much.
func TestFewUnits(t *testing.T) {
	s := newStore(t, 3, Metric{})
	for i := range 10 {
		round := []Sums{
			{Arm: 0, N: 10_000, X: 1, XX: 10_000 * 49},
			{Arm: 1, N: 5_000, X: 1.1, XX: 5_000 * 55},
			{Arm: 2, N: 5_000, X: 0.9, XX: 5_000 * 45},
		}
		if i == 5 { // a unit of 10⁶
			round[2].X += 1e6 / 5_000
			round[2].XX += 1e12
		}
		add(t, s, 0, round)
	}
	var e Chosen
	s.Choose(&e, 0, 0)
	near(t, "the level", e.Level.Mean, 1, 0.02)
	near(t, "the contrast", e.Delta[2], -0.1, 0.02)
	if e.Error[2] > 0.1 {
		t.Errorf("the error of the contrast is %v", e.Error[2])
	}
}

// TestNoisyArm: an arm has its own variance where that is far above the control's.
func TestNoisyArm(t *testing.T) {
	s := newStore(t, 3, Metric{})
	for range 20 {
		add(t, s, 0, []Sums{
			{Arm: 0, N: 1_000, X: 3, XX: 1_000},
			{Arm: 1, N: 1_000, X: 3, XX: 1_500},
			{Arm: 2, N: 1_000, X: 3, XX: 9_000},
		})
	}
	var e Contrasts
	s.Contrasts(&e, 0, 0, 0)
	near(t, "the share of the variance of the usual arm", e.Variance[1]/((1.25+1.25)/20_000), 1, 0.01)
	near(t, "that of the noisy arm", e.Variance[2]/((9+1.25)/20_000), 1, 0.01)
}

// TestMemories: after an abrupt change of an arm the chosen memory is a short one, and the arms
// that have not changed keep all rounds.
func TestMemories(t *testing.T) {
	r := random.New(5, "memories")
	s := newStore(t, 3, Metric{})
	for i := range 250 {
		round := make([]Sums, 3)
		for k := range round {
			mean := 1.0
			if k == 2 && i >= 150 {
				mean = 0.8
			}
			round[k] = Sums{Arm: k, N: 1_000, X: mean + stat.Normal(r)/math.Sqrt(1_000), XX: 1_000}
		}
		add(t, s, 0, round)
	}
	var e Chosen
	s.Choose(&e, 0, 0)
	if e.Memory[1] != 0 || e.Memory[2] < 2 {
		t.Errorf("memories %v, want all rounds for arm 1 and a short one for arm 2", e.Memory)
	}
	if math.Abs(e.Delta[2]+0.2) > 0.03 || e.Error[2] < 0.004 || e.Error[2] > 0.02 {
		t.Errorf("contrast %v ± %v of arm 2", e.Delta[2], e.Error[2])
	}
	product := make([]float64, 3)
	e.Product(product, []float64{0, 0, 1})
	near(t, "the variance by product", product[2], e.Error[2]*e.Error[2], 1e-12)
}

// TestAddRefuses: bad rounds are errors and change nothing.
func TestAddRefuses(t *testing.T) {
	s := newStore(t, 2, Metric{}, Metric{Ratio: true})
	add(t, s, 0, []Sums{sums(0, 10, 1), sums(1, 10, 2)})
	before := s.AppendBinary(nil)
	for _, x := range []struct {
		metric int
		round  []Sums
	}{
		{2, nil},
		{-1, nil},
		{0, []Sums{sums(2, 10, 1)}},
		{0, []Sums{sums(0, 10, 1), sums(0, 10, 1)}},
		{0, []Sums{sums(0, 0, 1)}},
		{0, []Sums{sums(0, 10, math.NaN())}},
		{0, []Sums{{N: 3, XX: -1}}},
		{0, []Sums{{N: 3, Y: 1}}},
		{1, []Sums{{N: 3, XX: 1, YY: 1, XY: 2}}},
	} {
		if err := s.Add(x.metric, x.round); err == nil {
			t.Errorf("metric %d, round %v: no error", x.metric, x.round)
		}
	}
	if string(s.AppendBinary(nil)) != string(before) {
		t.Error("a refused round has changed the store")
	}
	if _, err := New(0, []Metric{{}}); err == nil {
		t.Error("a store of no arm: no error")
	}
	if _, err := New(2, nil); err == nil {
		t.Error("a store without metrics: no error")
	}
}

// TestStoreMerge: a store of the first rounds and one of those after them make one of all, but for
// the variances known at the time, which are the same here.
func TestStoreMerge(t *testing.T) {
	r := random.New(6, "store merge")
	all, first, later := newStore(t, 3, Metric{}), newStore(t, 3, Metric{}), newStore(t, 3, Metric{})
	for i := range 30 {
		round := make([]Sums, 3)
		for k := range round {
			n := math.Ceil(100 + 500*r.Float64())
			round[k] = sums(k, n, stat.Normal(r))
		}
		add(t, all, 0, round)
		if i < 12 {
			add(t, first, 0, round)
		} else {
			add(t, later, 0, round)
		}
	}
	if err := first.Merge(later); err != nil {
		t.Fatal(err)
	}
	var x, y Chosen
	all.Choose(&x, 0, 0)
	first.Choose(&y, 0, 0)
	for k := range 3 {
		near(t, "a contrast", y.Delta[k], x.Delta[k], 1e-9)
		near(t, "an error", y.Error[k], x.Error[k], 1e-9)
	}
	near(t, "the error of rounds", y.Level.Rounds, x.Level.Rounds, 1e-9)
	if first.Rounds(0) != 30 || first.Units(0, 1) != all.Units(0, 1) {
		t.Errorf("%d rounds with %v units", first.Rounds(0), first.Units(0, 1))
	}
	if err := first.Merge(newStore(t, 4, Metric{})); err == nil {
		t.Error("stores of other arms: no error")
	}
	if err := first.Merge(newStore(t, 3, Metric{Ratio: true})); err == nil {
		t.Error("stores of other metrics: no error")
	}
}

// TestLevel: the level of the control is found where arms that differ have most units, and rounds
// that scatter widen its second error.
func TestLevel(t *testing.T) {
	s := newStore(t, 2, Metric{})
	for i := range 40 {
		u := 0.1 * float64(i%2)
		add(t, s, 0, []Sums{sums(0, 100, 1+u), sums(1, 900, 2+u)})
	}
	var e Contrasts
	s.Contrasts(&e, 0, 0, 0)
	near(t, "the level", e.Level.Mean, 1.05, 1e-9)
	near(t, "the share of the error of units", e.Level.Units*math.Sqrt(40_000), 1, 1e-9)
	// 40 rounds of weight 1,000, each .05 from the mean, have a Q of 100, 39 degrees of freedom.
	tau := math.Sqrt((100 - 39 - math.Sqrt(78)) / 39_000)
	near(t, "the share of that of rounds", e.Level.Rounds*math.Sqrt(40)/tau, 1, 1e-9)
}

// TestLateArm: an arm that joins is known once it was beside others.
func TestLateArm(t *testing.T) {
	s := newStore(t, 2, Metric{})
	add(t, s, 0, []Sums{sums(0, 10, 1), sums(1, 10, 2)})
	k := s.AddArm()
	var e Chosen
	s.Choose(&e, 0, 0)
	if e.Known[k] || !math.IsInf(e.Error[k], 1) {
		t.Errorf("the new arm is known: ± %v", e.Error[k])
	}
	add(t, s, 0, []Sums{sums(1, 10, 2), sums(k, 10, 5)}) // beside arm 1 only
	s.Choose(&e, 0, 0)
	near(t, "its contrast", e.Delta[k], 4, 1e-9)
}

// TestAllocations: estimates in a workspace that has been used, and rounds, allocate nothing.
func TestAllocations(t *testing.T) {
	for _, arms := range []int{12, 200} {
		r := random.New(7, "allocations")
		s := newStore(t, arms, Metric{}, Metric{Ratio: true})
		list := drawRounds(r, arms, 20)
		for _, round := range list {
			add(t, s, 0, round)
			add(t, s, 1, round)
		}
		var e Chosen
		s.Choose(&e, 0, 0)
		product := make([]float64, arms)
		if n := testing.AllocsPerRun(10, func() {
			s.Choose(&e, 1, 0.5)
			e.Product(product, e.Delta)
			_ = s.Add(0, list[3])
		}); n != 0 {
			t.Errorf("%d arms: %v allocations", arms, n)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, arms := range []int{12, 100, 1000} {
		b.Run(map[int]string{12: "12", 100: "100", 1000: "1000"}[arms], func(b *testing.B) {
			s := newStore(b, arms, Metric{})
			for _, round := range drawRounds(random.New(8, "bench"), arms, 20) {
				add(b, s, 0, round)
			}
			var e Chosen
			for b.Loop() {
				s.Choose(&e, 0, 0)
			}
		})
	}
}

// TestTotals: the contrasts of totals are differences of their means, with the sum of their
// variances, and the level is that of arm 0; new totals replace the old ones.
func TestTotals(t *testing.T) {
	s := newStore(t, 3, Metric{}, Metric{Ratio: true})
	add(t, s, 0, []Sums{sums(0, 100, 5), sums(1, 100, 9)})
	totals := []Total{{0, 1000, 0.2, 1e-3}, {1, 50, 0.5, 0.04}, {2, 400, 0.3, 0.01}}
	if err := s.SetTotals(0, 7, totals); err != nil {
		t.Fatal(err)
	}
	for memory := range Memories {
		var e Contrasts
		s.Contrasts(&e, 0, memory, 0)
		near(t, "a contrast", e.Delta[1], 0.3, 1e-12)
		near(t, "a contrast", e.Delta[2], 0.1, 1e-12)
		if memory > 0 {
			continue
		}
		near(t, "a variance", e.Variance[1], 0.041, 1e-12)
		near(t, "a variance", e.Variance[2], 0.011, 1e-12)
		near(t, "a covariance", e.Covariance(1, 2), 1e-3, 1e-12)
		near(t, "the level", e.Level.Mean, 0.2, 1e-12)
		near(t, "its error", e.Level.Units, math.Sqrt(1e-3), 1e-12)
	}
	if s.Rounds(0) != 7 || s.Units(0, 1) != 50 {
		t.Errorf("%d rounds, %v units", s.Rounds(0), s.Units(0, 1))
	}
	before := s.AppendBinary(nil)
	for name, bad := range map[string][]Total{
		"no arm": {{3, 1, 1, 1}}, "no units": {{0, 0, 1, 1}}, "no variance": {{0, 1, 1, 0}},
		"NaN": {{0, 1, math.NaN(), 1}}, "infinite": {{0, 1, 1, math.Inf(1)}}, "twice": {{0, 1, 1, 1}, {0, 1, 1, 1}},
	} {
		if s.SetTotals(0, 1, bad) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if s.SetTotals(1, 1, totals) == nil || s.SetTotals(2, 1, totals) == nil || s.SetTotals(0, 0, totals) == nil {
		t.Error("a ratio, no metric or no round: no error")
	}
	if !bytes.Equal(s.AppendBinary(nil), before) {
		t.Error("an error has changed the store")
	}
}

// TestLateMetric: a metric whose rounds come later than those of another has the sums that it has
// when all metrics of a round come together, in each memory: its rounds are discounted by its own
// later ones only.
func TestLateMetric(t *testing.T) {
	const rounds, late = 30, 12
	together, apart := newStore(t, 3, Metric{}, Metric{Ratio: true}), newStore(t, 3, Metric{}, Metric{Ratio: true})
	r := random.New(3, "late")
	first, second := randomRounds(r, 3, rounds), randomRounds(r, 3, rounds)
	list := func(w []weighted) (out []Sums) {
		for i := range w {
			out = append(out, Sums{Arm: w[i].arm, N: w[i].n, X: w[i].y[0], XX: w[i].n})
		}
		return out
	}
	for i := range rounds + late {
		if i < rounds {
			add(t, together, 0, list(first[i]))
			add(t, together, 1, list(second[i]))
			add(t, apart, 0, list(first[i]))
		}
		if i >= late {
			add(t, apart, 1, list(second[i-late]))
			continue
		}
		if apart.Rounds(1) != 0 || apart.Rounds(0) != i+1 {
			t.Fatalf("%d and %d rounds after %d", apart.Rounds(0), apart.Rounds(1), i+1)
		}
	}
	for metric := range 2 {
		for memory := range Memories {
			a, b := together.metrics[metric].memories[memory].v, apart.metrics[metric].memories[memory].v
			for j := range a {
				near(t, "a sum of a late metric", b[j], a[j], 1e-9)
			}
			// The weight of a round, from its end, is that of the memory, whenever it came.
			var x, y Contrasts
			together.Contrasts(&x, metric, memory, 0)
			apart.Contrasts(&y, metric, memory, 0)
			near(t, "a contrast", y.Delta[1], x.Delta[1], 1e-9)
			near(t, "its variance", y.Variance[1], x.Variance[1], 1e-9)
		}
	}
}
