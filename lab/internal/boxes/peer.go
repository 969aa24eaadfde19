package boxes

import (
	"math"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// Peer is a quadratic response surface with ε-greedy exploration, the baseline. In each round it
// serves ε_t = max(0.1, 1/√t) of the units at new random points, and the rest by the mixture that
// is best on weighted least squares fits of all that was seen, over random candidates, with the
// guardrail's fit a number of standard errors worse.
type Peer struct {
	goals    *pasto.Goals
	d        int
	caution  float64
	r        *random.Source
	points   [][]float64
	p, down  []float64
	rounds   int
	info     []float64    // Σ n·φφᵀ
	moment   [2][]float64 // Σ n·φ·û
	squares  [2]float64   // Σ n·û²
	groups   float64
	features []float64
}

// NewPeer makes the baseline.
func NewPeer(g *pasto.Goals, d int, caution float64, seed uint64) *Peer {
	q := (d + 1) * (d + 2) / 2
	l := &Peer{goals: g, d: d, caution: caution, r: random.New(seed, "peer"), info: make([]float64, q*q)}
	l.moment = [2][]float64{make([]float64, q), make([]float64, q)}
	l.features = make([]float64, q)
	l.explore(1, 4*q)
	return l
}

// explore adds n random points that share eps evenly to what is served.
func (l *Peer) explore(eps float64, n int) {
	for range n {
		x := make([]float64, l.d)
		for i := range x {
			x[i] = l.r.Float64()
		}
		l.points, l.p, l.down = append(l.points, x), append(l.p, eps/float64(n)), append(l.down, 0)
	}
}

// phi are the features of x.
func (l *Peer) phi(x []float64) []float64 {
	f := append(l.features[:0], 1)
	for i := range x {
		f = append(f, 2*x[i]-1)
		for j := range i + 1 {
			f = append(f, (2*x[i]-1)*(2*x[j]-1))
		}
	}
	return f
}

// Serving implements [Learner].
func (l *Peer) Serving() []float64 { return l.p }

// Deployed implements [Learner].
func (l *Peer) Deployed() []float64 { return l.down }

// Point implements [Learner].
func (l *Peer) Point(k int) []float64 { return l.points[k] }

// Observe implements [Learner].
func (l *Peer) Observe(obs []pasto.Observation) error {
	q := len(l.features)
	for i := range obs {
		f, n := l.phi(l.points[obs[i].Arm]), obs[i].Size
		for a := range q {
			vec.AddScaled(l.info[a*q:(a+1)*q], n*f[a], f)
		}
		for m, v := range obs[i].Metrics {
			vec.AddScaled(l.moment[m], n*v, f)
			l.squares[m] += float64(n * v * v)
		}
		l.groups++
	}
	l.rounds++
	return l.plan()
}

// plan fits the surfaces and chooses what to serve and to deploy.
func (l *Peer) plan() error {
	q := len(l.features)
	factor := append([]float64{}, l.info...)
	for a := range q {
		factor[a*q+a] += float64(1e-9 * l.info[0])
	}
	linalg.Factorize(factor, q)
	var weights [2][]float64
	var noise [2]float64
	for m := range weights {
		weights[m] = append([]float64{}, l.moment[m]...)
		linalg.SolveRT(factor, q, weights[m])
		linalg.SolveR(factor, q, weights[m])
		noise[m] = max(l.squares[m]-vec.Dot(weights[m], l.moment[m]), 0) / max(l.groups-float64(q), 1)
	}
	first, candidates := len(l.points), 400
	l.explore(0, candidates)
	for k := first + candidates/2; k < len(l.points); k++ { // half of them near the present mixture
		if at := l.atom(first); at != nil {
			for i := range at {
				l.points[k][i] = min(max(at[i]+float64(.1*stat.Normal(l.r)), 0), 1)
			}
		}
	}
	t := new(pasto.Table)
	t.Reset(candidates, 2)
	for k := range candidates {
		f := l.phi(l.points[first+k])
		t.Arm(k)[0], t.Arm(k)[1] = vec.Dot(f, weights[0]), vec.Dot(f, weights[1])
		linalg.SolveRT(factor, q, f)
		t.Arm(k)[1] += float64(l.caution * math.Sqrt(noise[1]*vec.Dot(f, f)))
	}
	o, err := optimum.Maximize(l.goals, t, optimum.DefaultOptions())
	mixture := make([]float64, candidates)
	if err == nil {
		mixture = o.Mixture
	} else { // none holds the guardrail
		k := 0
		for j := range candidates {
			if t.Arm(j)[1] < t.Arm(k)[1] {
				k = j
			}
		}
		mixture[k] = 1
	}
	// Keep only the atoms.
	atoms := l.points[first:]
	l.points, l.p, l.down = l.points[:first], l.p[:first], l.down[:first]
	clear(l.p)
	clear(l.down)
	eps := max(.1, 1/math.Sqrt(float64(l.rounds+1)))
	for k, w := range mixture {
		if w > 0 {
			l.points, l.p, l.down = append(l.points, atoms[k]), append(l.p, (1-eps)*w), append(l.down, w)
		}
	}
	l.explore(eps, 10)
	return nil
}

// atom is a random atom of the deployed mixture among the first n points, nil if there is none.
func (l *Peer) atom(n int) []float64 {
	u := l.r.Float64()
	for k := range n {
		if u -= l.down[k]; l.down[k] > 0 && u < 0 {
			return l.points[k]
		}
	}
	return nil
}
