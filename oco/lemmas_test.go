package oco

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// More lemmas (Tk) and identities (Ik), see identities_test.go.

// TestBeTheLeader: Σ l_t(x*_t) ≤ Σ l_t(x*_T) for minimizers x*_t of Σ_{i≤t} l_i: for any
// functions on a finite set, and for the leaders of this package, whose x_{t+1} is x*_t.
func TestBeTheLeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 6, 60)
		const points = 12
		var total [points]float64
		var leader float64
		for range n {
			var l [points]float64 // no convexity: any numbers
			for i := range l {
				l[i] = r.NormFloat64() * math.Exp(2*r.NormFloat64())
				total[i] += l[i]
			}
			best := 0
			for i, v := range total {
				if v < total[best] {
					best = i
				}
			}
			leader += l[best]
		}
		if least := slices.Min(total[:]); leader > least+1e-9*(1+math.Abs(least)) {
			t.Fatalf("the leaders' loss %v is above the last one's %v", leader, least)
		}
		for _, set := range setsFor(r, d) {
			mean := must(NewMeanLeader(set, nil))
			cs := make([][]float64, n)
			var paid, last float64
			for k := range cs {
				cs[k] = gradient(r, kind, k, mean.Predict(), true)
				if err := mean.UpdateTarget(cs[k]); err != nil {
					t.Fatal(err)
				}
				paid += distanceSquared(mean.Predict(), cs[k])
			}
			for _, c := range cs {
				last += distanceSquared(mean.Predict(), c)
			}
			if paid > last+1e-9*(1+last) {
				t.Fatalf("mean leader on %v: %v is above %v", set, paid, last)
			}
			if math.IsInf(set.Diameter(), 1) {
				continue
			}
			linear := must(NewLinearLeader(set, nil))
			sum := make([]float64, d)
			paid = 0
			for _, c := range cs {
				if err := linear.Update(c); err != nil {
					t.Fatal(err)
				}
				paid += vec.Dot(c, linear.Predict())
				for i, v := range c {
					sum[i] += v
				}
			}
			if end := vec.Dot(sum, linear.Predict()); paid > end+1e-9*(1+float64(n)) {
				t.Fatalf("linear leader on %v: %v is above %v", set, paid, end)
			}
		}
	})
}

// TestLStar: x − √(ax + b) ≤ c implies x ≤ a + c + 2√(b + ac), the 2 may be 1 and not less than
// ½; with it, the L* bound of Theorem 4.21 holds on runs with nonnegative smooth losses.
func TestLStar(t *testing.T) {
	tightest := math.Inf(1)
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, _ := drawGame(t, 6, 100)
		a, b, c := logUniform(r, 1e3), logUniform(r, 1e3), logUniform(r, 1e3)
		x := c + (a+math.Sqrt(a*a+4*(a*c+b)))/2 // the largest x of the premise
		if gap := x - math.Sqrt(a*x+b) - c; math.Abs(gap) > 1e-9*x {
			t.Fatalf("x − √(ax+b) − c = %v at x = %v", gap, x)
		}
		tightest = min(tightest, (a+c+math.Sqrt(b+a*c)-x)/x)
		if x > (a+c+math.Sqrt(b+a*c))*(1+1e-12) {
			t.Fatalf("x = %v is above %v", x, a+c+math.Sqrt(b+a*c))
		}
		set := must(convex.NewCenteredBall(d, 1))
		l := must(NewLinearized(descent(set, nil, Adaptive(math.Sqrt2))))
		var fs []loss.Function
		var paid, M float64
		centre := pointIn(r, set)
		noise := logUniform(r, 100)
		for range n {
			z := make([]float64, d)
			for i := range z {
				z[i] = r.NormFloat64()
			}
			M = max(M, vec.Dot(z, z)) // ½(⟨z,x⟩−y)² is ‖z‖²-smooth on all of ℝ^d
			f := must(loss.NewExample(z, vec.Dot(z, centre)+.01*noise*r.NormFloat64(), loss.Squared{}))
			fs = append(fs, f)
			paid += f.Value(l.Predict())
			if err := l.UpdateLoss(f); err != nil {
				t.Fatal(err)
			}
		}
		for _, u := range append(comparators(r, set, make([]float64, d)), centre) {
			var best float64
			for _, f := range fs {
				best += f.Value(u)
			}
			if limit := LStarBound(M, 2, best); paid-best > limit {
				t.Fatalf("regret %v is above the L* bound %v", paid-best, limit)
			}
			if sharp := 16*M + 4*math.Sqrt(M*best); paid-best > sharp {
				t.Fatalf("regret %v is above the L* bound %v with factor 2", paid-best, sharp)
			}
		}
	})
	if tightest > .1 {
		t.Errorf("no draw came near the bound: %v", tightest)
	}
}

// TestStronglyConvex: Corollary 7.6, f(x) − f(x*) ≤ ‖g‖²/(2μ), and Lemma 7.5, f(x) − f(y) ≤ ⟨g,
// x−y⟩ + ‖g−g'‖²/(2μ) with g ∈ ∂f(y) and g' ∈ ∂f(x), for (μ/2)‖x‖² and a loss with kinks.
func TestStronglyConvex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, _, _ := drawGame(t, 6, 2)
		mu := logUniform(r, 10)
		draw := func() []float64 {
			x := make([]float64, d)
			for i := range x {
				x[i] = r.NormFloat64()
			}
			return x
		}
		// Σ w_i·|x_i − c_i| + (μ/2)‖x‖² has its minimum at clip(c_i, ±w_i/μ).
		w, c, least := draw(), draw(), make([]float64, d)
		f := func(x []float64) (s float64, g []float64) {
			g = make([]float64, d)
			for i, v := range x {
				s += math.Abs(w[i])*math.Abs(v-c[i]) + mu/2*v*v
				g[i] = mu * v
				if v != c[i] {
					g[i] += math.Abs(w[i]) * math.Copysign(1, v-c[i])
				}
			}
			return s, g
		}
		for i := range least {
			least[i] = max(-math.Abs(w[i])/mu, min(math.Abs(w[i])/mu, c[i]))
		}
		bottom, _ := f(least)
		x, y := draw(), draw()
		fx, gx := f(x)
		if limit := vec.Dot(gx, gx) / (2 * mu); fx-bottom > limit*(1+1e-12)+1e-12 {
			t.Fatalf("Corollary 7.6: %v > %v", fx-bottom, limit)
		}
		for _, phi := range []loss.Scalar{loss.HingeLoss{}, loss.LogisticLoss{}, loss.SquaredHingeLoss{}} {
			h := must(loss.NewRidge(must(loss.NewExample(draw(), 1, phi)), mu))
			g, other := make([]float64, d), make([]float64, d)
			h.Subgradient(g, y)
			h.Subgradient(other, x)
			var inner float64
			for i := range g {
				inner += g[i] * (x[i] - y[i])
			}
			if limit := inner + distanceSquared(g,
				other)/(2*mu); h.Value(x)-h.Value(y) > limit+1e-12*(1+math.Abs(limit)) {
				t.Fatalf("Lemma 7.5 for %T: %v > %v", phi, h.Value(x)-h.Value(y), limit)
			}
			if h.Value(x)-h.Value(y) < inner-1e-12*(1+math.Abs(inner)) {
				t.Fatalf("%T: not above its tangent", phi)
			}
		}
	})
}

// TestAzuma: bets on fair coins that depend on the past are a martingale (Example 3.11): their
// mean is 0 and P[Z_T ≥ ε] ≤ exp(−ε²/(2B²T)); seeds 1, 2, ....
func TestAzuma(t *testing.T) {
	const rounds, runs = 40, 20000
	for name, bet := range map[string]func(z, last float64, k int) float64{
		"constant": func(float64, float64, int) float64 { return 1 },
		"follow":   func(_, last float64, _ int) float64 { return last },
		"chase":    func(z, _ float64, k int) float64 { return math.Tanh(float64(rounds-k) / (1 + math.Abs(z))) },
		"stop":     func(z, _ float64, _ int) float64 { return math.Max(0, math.Min(1, 4-z)) },
	} {
		var mean, square float64
		count := map[float64]int{4: 0, 8: 0, 12: 0, 16: 0}
		for seed := range uint64(runs) {
			r := random.New(seed+1, "azuma/"+name)
			z, last := 0., 1.
			for k := range rounds {
				c := float64(1 - 2*r.IntN(2))
				x := bet(z, last, k)
				z += c * x
				last = c
			}
			mean += z / runs
			square += z * z / runs
			for e := range count {
				if z >= e {
					count[e]++
				}
			}
		}
		if se := math.Sqrt((square - mean*mean) / runs); math.Abs(mean) > 4*se {
			t.Errorf("%s: mean %v, 4 standard errors are %v", name, mean, 4*se)
		}
		for e, n := range count {
			limit := math.Exp(-e * e / (2 * rounds))
			if p := float64(n) / runs; p > limit+4*math.Sqrt(limit*(1-limit)/runs) {
				t.Errorf("%s: P[Z ≥ %v] = %v is above %v", name, e, p, limit)
			}
			if name == "constant" && e == 8 && float64(n) < limit*runs/10 {
				t.Errorf("P[Z ≥ 8] = %v is far below %v: the coins are not fair", float64(n)/runs, limit)
			}
		}
	}
}

// TestRegretEqualityOfRegularizers is Lemma 7.1 for linear losses in more dimensions, with every regularizer
// and both weights: the equality, that every point minimizes its F_t, and the stability bound of
// Lemma 7.7.
func TestRegretEqualityOfRegularizers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 8, 25)
		regs := regularizers(r, d)
		for range 6 {
			reg := regs[r.IntN(len(regs))]
			lambda, norm := reg.StrongConvexity()
			weight := []Weight{ConstantWeight(logUniform(r, 10)), SqrtWeight(logUniform(r, 10))}[r.IntN(2)]
			l := must(NewFTRL(reg, nil, weight))
			theta := make([]float64, l.Dim())
			// F_k, with ψ_k = c_k·(ψ − min ψ).
			F := func(k int, x []float64) float64 {
				return weight.at(k)*(reg.Map().Value(x)-reg.Min()) - vec.Dot(theta, x)
			}
			u := pointIn(r, reg.Set())
			for i, v := range l.Predict() { // inside, where ψ is finite
				u[i] = (u[i] + v) / 2
			}
			var regret, right, size float64
			for k := 1; k <= n; k++ {
				x := slices.Clone(l.Predict())
				at := F(k, x)
				for _, v := range [][]float64{u, pointIn(r, reg.Set())} {
					if f := F(k, v); at > f+1e-9*(1+math.Abs(f)+math.Abs(vec.Dot(theta, x))) {
						t.Fatalf("%v: F_%d is %v at its point and %v at %v", reg, k, at, f, v)
					}
				}
				g := gradient(r, kind, k, x, true)
				regret += vec.Dot(g, x) - vec.Dot(g, u)
				for i, v := range g {
					theta[i] -= v
				}
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
				next := l.Predict()
				term := at - F(k+1, next) + vec.Dot(g, x)
				right += term
				scale := 1 + math.Abs(at) + math.Abs(vec.Dot(theta, next)) + weight.at(k)*math.Abs(reg.Min())
				size += scale
				dual := norm.Dual().Of(g)
				stability := dual*dual/(2*lambda*weight.at(k)) +
					(weight.at(k)-weight.at(k+1))*(reg.Map().Value(next)-reg.Min())
				if !(term <= stability+1e-9*scale) {
					t.Fatalf("%v, weight %v: round %d: stability %v is above %v", reg, weight.name, k, term, stability)
				}
			}
			last := l.Predict()
			right += weight.at(n+1)*(reg.Map().Value(u)-reg.Min()) + F(n+1, last) - F(n+1, u)
			if !(math.Abs(regret-right) <= 1e-11*(size+math.Abs(regret)+math.Abs(F(n+1, u)))) {
				t.Fatalf("%v: regret %v, the right side of the equality %v", reg, regret, right)
			}
		}
	})
}

// TestOptimality: x minimizes f over V iff ⟨∇f(x), y − x⟩ ≥ 0 for all y in V (Theorem 2.8), for
// the projections and for the points of FTRL; and 0 ∈ ∂f at the points of the composite learner
// (Theorem 6.10).
func TestOptimality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 8, 20)
		for _, set := range wideSets(r, d) {
			v, x := make([]float64, set.Dim()), make([]float64, set.Dim())
			for i := range v {
				v[i] = 3 * r.NormFloat64()
			}
			set.Project(x, v)
			for range 5 {
				y := pointIn(r, set)
				var inner, size, back, there float64
				for i := range v {
					inner += (x[i] - v[i]) * (y[i] - x[i])
					size += math.Abs(x[i]-v[i]) * (math.Abs(y[i]) + math.Abs(x[i]))
					back += (y[i] - v[i]) * (x[i] - y[i])
					there += (y[i] - x[i]) * (y[i] - x[i])
				}
				if inner < -1e-9*(1+size) {
					t.Fatalf("%v: ⟨x−v, y−x⟩ = %v for y = %v", set, inner, y)
				}
				if there > 1e-6*(1+size) && back > -there/2 { // y is no minimizer: it fails towards x
					t.Fatalf("%v: ⟨y−v, x−y⟩ = %v for y = %v", set, back, y)
				}
			}
		}
		for _, reg := range regularizers(r, d) {
			l := must(NewFTRL(reg, nil, ConstantWeight(1)))
			theta, grad := make([]float64, l.Dim()), make([]float64, l.Dim())
			for k := range 3 {
				g := gradient(r, kind, k, l.Predict(), true)
				for i, v := range g {
					theta[i] -= v
				}
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
			}
			x := l.Predict()
			if !reg.Map().Interior(x) {
				continue
			}
			reg.Map().Gradient(grad, x)
			y := pointIn(r, reg.Set())
			var inner, size float64
			for i := range y {
				inner += (grad[i] - theta[i]) * (y[i] - x[i])
				size += (math.Abs(grad[i]) + math.Abs(theta[i])) * (math.Abs(y[i]) + math.Abs(x[i]))
			}
			if inner < -1e-9*(1+size) {
				t.Fatalf("%v: ⟨∇F(x), y−x⟩ = %v at x = %v, y = %v", reg, inner, x, y)
			}
		}
		const L, kappa = 2., .3
		l := must(NewCompositeFTRL(space(d), L, kappa))
		theta := make([]float64, d)
		for k := 1; k <= n; k++ {
			for i, x := range l.Predict() { // −θ + L√t·x + κt·∂|x| ∋ 0
				rest, limit := theta[i]-L*math.Sqrt(float64(k))*x, kappa*float64(k)
				if math.Abs(rest) > limit*(1+1e-12) || x != 0 && math.Abs(rest-limit*math.Copysign(1, x)) > 1e-9*limit {
					t.Fatalf("round %d: %v is not in %v·∂|%v|", k, rest, limit, x)
				}
			}
			g := gradient(r, kind, k, l.Predict(), true)
			for i, v := range g {
				theta[i] -= v
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestRidgeShrunk: the prediction of the forecaster is ridge regression's over 1 + s, and x_t =
// S_t⁻¹·b_{t−1}.
func TestRidgeShrunk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 6, 40)
		lambda := logUniform(r, 10)
		l := must(NewVovkAzouryWarmuth(d, lambda))
		s := make([][]float64, d)
		for i := range s {
			s[i] = make([]float64, d)
			s[i][i] = lambda
		}
		b := make([]float64, d)
		for k := range n {
			z := gradient(r, kind, k, b, true)
			ridge := vec.Dot(z, gauss(s, b))
			shrink := 1 + vec.Dot(z, gauss(s, z))
			for i := range s {
				for j := range s {
					s[i][j] += z[i] * z[j]
				}
			}
			if err := l.Features(z); err != nil {
				t.Fatal(err)
			}
			if p := must(l.Prediction()); math.Abs(p-ridge/shrink) > 1e-9*(1+math.Abs(ridge)) {
				t.Fatalf("round %d: %v, ridge %v over %v", k+1, p, ridge, shrink)
			}
			want := gauss(s, b)
			for i, x := range l.Predict() {
				if math.Abs(x-want[i]) > 1e-8*(1+vec.MaxAbs(want)) {
					t.Fatalf("round %d: x = %v, want %v", k+1, l.Predict(), want)
				}
			}
			y := 3 * r.NormFloat64()
			if err := l.UpdateLabel(y); err != nil {
				t.Fatal(err)
			}
			for i, v := range z {
				b[i] += y * v
			}
		}
	})
}

// TestTwoSteps: the step of mirror descent is the unconstrained step and then the Bregman
// projection, for entropy, p-norms and the quadratic map, on every set that they have here.
func TestTwoSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 8, 15)
		p := 1.3 + .7*r.Float64()
		pmap := must(convex.NewPNorm(d, p))
		regs := []convex.Regularizer{
			must(entropyOnSimplex(d)), must(convex.Restrict(pmap, space(d))),
			must(convex.Restrict(pmap, must(convex.NewCenteredLpBall(d, p, .7)))),
		}
		for _, set := range setsFor(r, d) {
			regs = append(regs, euclidean(set))
		}
		for _, reg := range regs {
			eta := logUniform(r, 3)
			l := must(NewMirrorDescent(reg, nil, Constant(eta), 0))
			free, want := make([]float64, d), make([]float64, d)
			for k := range n {
				x := slices.Clone(l.Predict())
				g := gradient(r, kind, k, x, true)
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
				reg.Map().Gradient(free, x)
				for i, v := range g {
					free[i] -= eta * v
				}
				reg.Map().Inverse(free, free)
				next := l.Predict()
				switch reg.Map().(type) {
				case *convex.NegativeEntropy: // x·exp(−ηg), normalized
					var total float64
					for i, v := range g {
						want[i] = x[i] * math.Exp(-eta*v)
						total += want[i]
					}
					for i := range want {
						want[i] /= total
					}
				case *convex.Quadratic:
					for i, v := range g {
						want[i] = x[i] - eta*v
					}
					reg.Set().Project(want, want)
				default:
					copy(want, next)
				}
				for i := range want {
					if math.Abs(want[i]-next[i]) > 1e-9*(1+vec.MaxAbs(want)) {
						t.Fatalf("%v: one step %v, two steps %v", reg, next, want)
					}
				}
				// The Bregman projection: no point of the set is nearer, by the Pythagorean
				// inequality.
				y := pointIn(r, reg.Set())
				near := reg.Map().Divergence(next, free)
				if far := reg.Map().Divergence(y, free); near+reg.Map().Divergence(y, next) > far+1e-8*(1+far) {
					t.Fatalf("%v: B(x'; x̃) + B(y; x') = %v + %v is above B(y; x̃) = %v", reg, near,
						reg.Map().Divergence(y, next), far)
				}
			}
		}
	})
}

// TestPermutationWithOptions: permuting the coordinates of starts, centres, priors, boxes, hints
// and subgradients permutes the points.
func TestPermutationWithOptions(t *testing.T) {
	const d = 5
	r := random.New(9, "permute/options")
	perm := r.Perm(d)
	permute := func(v []float64) []float64 {
		w := make([]float64, len(v))
		for i, p := range perm {
			w[p] = v[i]
		}
		return w
	}
	lower, upper, start := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range lower {
		lower[i], upper[i] = -r.Float64(), r.Float64()
		start[i] = lower[i] + r.Float64()*(upper[i]-lower[i])
	}
	prior := interior(r, d)
	type option func(p func([]float64) []float64) Learner
	box := func(p func([]float64) []float64) *convex.Box { return must(convex.NewBox(p(lower), p(upper))) }
	for name, make := range map[string]option{
		"ogd":     func(p func([]float64) []float64) Learner { return descent(box(p), p(start), Adaptive(.3)) },
		"adagrad": func(p func([]float64) []float64) Learner { return must(NewAdaGrad(box(p), p(start))) },
		"proximal": func(p func([]float64) []float64) Learner {
			return must(NewProximalFTRL(box(p), p(start), Adaptive(.3)))
		},
		"quadratized": func(p func([]float64) []float64) Learner {
			return must(NewQuadratizedFTRL(box(p), p(start), .2))
		},
		"ftrl centre": func(p func([]float64) []float64) Learner {
			return must(NewFTRL(euclidean(box(p)), p(start), SqrtWeight(.7)))
		},
		"entropy centre": func(p func([]float64) []float64) Learner {
			return must(NewFTRL(must(entropyOnSimplex(d)), p(prior), SqrtWeight(.7)))
		},
		"eg": func(p func([]float64) []float64) Learner { return must(NewExponentiatedGradient(d, p(prior), .6)) },
		"mirror": func(p func([]float64) []float64) Learner {
			return must(NewMirrorDescent(must(entropyOnSimplex(d)), p(prior), Constant(.4), 0))
		},
		"gradual": func(p func([]float64) []float64) Learner { return must(NewGradualFTRL(euclidean(box(p)), .3, 2)) },
		"adaftrl": func(p func([]float64) []float64) Learner { return must(NewAdaFTRL(euclidean(box(p)), .3)) },
		"ons":     func(p func([]float64) []float64) Learner { return must(NewOnlineNewtonStep(box(p), .3, .2)) },
		"diagonal": func(p func([]float64) []float64) Learner {
			return must(NewFTRL(must(convex.Restrict(must(convex.NewDiagonalQuadratic(p(prior))), box(p))), nil,
				SqrtWeight(2)))
		},
		"composite": func(p func([]float64) []float64) Learner { return must(NewCompositeFTRL(box(p), .5, .05)) },
		"p-norm":    func(func([]float64) []float64) Learner { return must(NewPNorm(d, 1.4, .2)) },
		"ftrl-proximal": func(func([]float64) []float64) Learner {
			return must(NewFTRLProximal(d, FTRLProximalOptions{A: .3, Beta: .2, L1: .4, L2: .1}))
		},
		"optimistic": func(p func([]float64) []float64) Learner {
			return must(NewOptimisticFTRL(euclidean(box(p)), SqrtWeight(.4)))
		},
		"hint-experts": func(p func([]float64) []float64) Learner {
			return must(NewHintExperts(must(NewOptimisticFTRL(euclidean(box(p)), SqrtWeight(.4))), 2, convex.L2))
		},
		"averaging": func(p func([]float64) []float64) Learner {
			return must(NewAveraging(descent(box(p), p(start), Adaptive(.3)), LinearAlpha()))
		},
		"anytime": func(p func([]float64) []float64) Learner {
			return must(NewAnytime(descent(box(p), p(start), Adaptive(.3)), LinearAlpha()))
		},
	} {
		r := random.New(10, name) // maps have no order
		a, b := make(func(v []float64) []float64 { return v }), make(permute)
		var moved float64
		for round := range 40 {
			g := gradient(r, "gaussian", round, a.Predict(), true)
			h := gradient(r, "gaussian", round, a.Predict(), true)
			switch l := a.(type) {
			case *HintExperts:
				_, _ = l.Hints([][]float64{h, g}), b.(*HintExperts).Hints([][]float64{permute(h), permute(g)})
			case Hinted:
				_, _ = l.Hint(h), b.(Hinted).Hint(permute(h))
			}
			x, y := permute(a.Predict()), b.Predict()
			for i := range x {
				if math.Abs(x[i]-y[i]) > 1e-9 {
					t.Fatalf("%s: round %d: %v, permuted %v", name, round+1, x, y)
				}
				moved += math.Abs(x[i] - x[0])
			}
			if err := a.Update(g); err != nil {
				t.Fatal(err)
			}
			if err := b.Update(permute(g)); err != nil {
				t.Fatal(err)
			}
		}
		if moved == 0 {
			t.Errorf("%s: all coordinates were equal", name)
		}
	}
}
