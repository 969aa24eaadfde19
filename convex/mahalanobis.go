package convex

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/vec"
)

// Mahalanobis is a workspace for projections in the norm ‖·‖_S of a matrix that changes from call
// to call, as the online Newton step needs them. It allocates only on the first call for a kind of
// set, and is not safe for concurrent use.
//
// The solvers, all finite or certified:
//
//   - [Space]: two triangular solves;
//   - a Euclidean [Ball]: S is reduced to tridiagonal form, (4/3)d³ operations, and the multiplier
//     of ‖x‖ = r is found by Newton's method on 1/r − 1/‖x(ν)‖, O(d) a step;
//   - [Halfspace] and [Affine]: closed form;
//   - [Box], [Simplex], [CappedSimplex]: sweeps of exact coordinate (or pair) descent that find the
//     active set, and Newton steps on the free coordinates that solve for it, O(d³) each, until the
//     gap is reached;
//   - a [Product] of sets of this package, and any other set that is bounded: accelerated projected
//     gradient steps with restarts, O(d²) and a projection each.
type Mahalanobis struct {
	d    int
	s, r []float64 // the matrix and its Cholesky factor; may belong to a caller
	tri  *linalg.Tridiagonal

	own, ownFactor        []float64
	ownTri                *linalg.Tridiagonal
	theta, x, p, v, w     []float64
	face                  []float64 // a d×d buffer of the face or of the equations
	equations             []float64
	free                  []int
	onFree, onesOnFree, z []float64
}

// NewMahalanobis makes a workspace for dimension d. It holds 2d² numbers, and up to 3d² more once a
// kind of set needs them.
func NewMahalanobis(d int) (*Mahalanobis, error) {
	// A Euclidean ball needs the tridiagonal form in addition, other sets a face or equations.
	if err := checkMemory("mahalanobis", d, float64(5*float64(d))*float64(d)); err != nil {
		return nil, err
	}
	w := newMahalanobis(d)
	w.own, w.ownFactor = make([]float64, d*d), make([]float64, d*d)
	return w, nil
}

func newMahalanobis(d int) *Mahalanobis {
	w := &Mahalanobis{d: d, free: make([]int, 0, d)}
	for _, p := range []*[]float64{&w.theta, &w.x, &w.p, &w.v, &w.w, &w.onFree, &w.onesOnFree, &w.z} {
		*p = make([]float64, d)
	}
	return w
}

// Dim is d.
func (m *Mahalanobis) Dim() int { return m.d }

// Project writes argmin_{x∈V} ½(x−c)ᵀS(x−c) to dst, for a symmetric positive definite S given row
// by row (d² numbers). See Argmax for the gap, tol and the errors. dst may be c.
func (m *Mahalanobis) Project(dst, s, c []float64, set Set, tol float64) (gap float64, err error) {
	if err := m.check(s, c, set); err != nil {
		return math.Inf(1), err
	}
	linalg.MulSymmetric(m.theta, s, c)
	return m.argmax(dst, s, m.theta, set, tol)
}

// Argmax writes argmin_{x∈V} ½xᵀSx − ⟨θ,x⟩ to dst: the projection of S⁻¹θ, without forming
// that point. dst may be theta.
//
// It returns a certificate: with p = Sx − θ, gap = ⟨p,x⟩ − min_{v∈V}⟨p,v⟩ bounds the distance of
// the objective from its minimum, so ½‖x−x*‖_S² ≤ gap. (On an unbounded set, the part r of p that
// has no minimum is left out and adds ½rᵀS⁻¹r.) The call succeeds when gap ≤ tol·(½xᵀSx +
// |⟨θ,x⟩|). A tol of 1e-10 is safe; rounding limits it to some 1e-15 times the condition of S.
//
// Errors: BadInput for wrong lengths, for an S that is not finite or not positive definite, and for
// an unbounded set of another package; dst is then unchanged. Diverged when tol was not reached:
// dst then holds the best point found.
func (m *Mahalanobis) Argmax(dst, s, theta []float64, set Set, tol float64) (gap float64, err error) {
	if err := m.check(s, theta, set); err != nil {
		return math.Inf(1), err
	}
	return m.argmax(dst, s, theta, set, tol)
}

// ArgmaxFactored is Argmax for an S whose Cholesky factor is known: the upper triangular r with S =
// rᵀr and a positive diagonal, row by row (d² numbers). It works where S is too close to singular
// to be factored anew.
func (m *Mahalanobis) ArgmaxFactored(dst, s, r, theta []float64, set Set, tol float64) (gap float64, err error) {
	if err := m.check(s, theta, set); err != nil {
		return math.Inf(1), err
	}
	if !linalg.ValidFactor(r, m.d) || !vec.Finite(s) {
		return math.Inf(1), noregret.BadInputf("mahalanobis",
			"the matrix is not finite and positive definite, or its factor is not one of dimension %d", m.d)
	}
	copy(m.own, s)
	copy(m.ownFactor, r)
	m.s, m.r, m.tri = m.own, m.ownFactor, nil
	return m.solve(dst, theta, set, tol)
}

func (m *Mahalanobis) check(s, c []float64, set Set) error {
	switch {
	case set == nil:
		return noregret.BadInputf("mahalanobis", "the set is nil")
	case len(c) != m.d:
		return checkLen("mahalanobis", "the vector", len(c), m.d)
	case len(s) != m.d*m.d:
		return checkLen("mahalanobis", "the matrix", len(s), m.d*m.d)
	case set.Dim() != m.d:
		return checkLen("mahalanobis", "the set", set.Dim(), m.d)
	case !vec.Finite(c):
		return checkFinite("mahalanobis", "the vector", c)
	}
	return nil
}

func (m *Mahalanobis) argmax(dst, s, theta []float64, set Set, tol float64) (float64, error) {
	copy(m.own, s)
	copy(m.ownFactor, s)
	m.s, m.r, m.tri = m.own, m.ownFactor, nil
	if !vec.Finite(s) || !linalg.Factorize(m.r, m.d) {
		return math.Inf(1), noregret.BadInputf("mahalanobis",
			"the matrix is not finite and positive definite")
	}
	return m.solve(dst, theta, set, tol)
}

// solve works on the factored m.s. dst may be theta.
func (m *Mahalanobis) solve(dst, theta []float64, set Set, tol float64) (float64, error) {
	copy(m.theta, theta)
	copy(m.x, theta)
	linalg.SolveRT(m.r, m.d, m.x)
	linalg.SolveR(m.r, m.d, m.x)
	if !set.Contains(m.x, 0) {
		switch set := set.(type) {
		case *Ball:
			if set.norm.p == 2 {
				m.ball(set)
			} else if err := m.accelerated(set, tol); err != nil {
				return math.Inf(1), err
			}
		case *Box:
			m.bounded(set, set, false, tol)
		case *Simplex:
			m.bounded(set, set, true, tol)
		case *CappedSimplex:
			m.bounded(set, set, true, tol)
		case *Halfspace:
			m.halfspace(set)
		case *Affine:
			m.affine(set)
		default:
			if err := m.accelerated(set, tol); err != nil {
				return math.Inf(1), err
			}
		}
		set.Project(m.x, m.x) // a member to the last bit
	}
	gap, scale, err := m.certify(set)
	if err != nil {
		return gap, err
	}
	copy(dst, m.x)
	if !(gap <= float64(tol*scale)) && !(gap <= 1e-300) { // NaN, too
		return gap, noregret.Errorf(noregret.Diverged, "mahalanobis",
			"the certified gap is %v, want at most %v times %v", gap, tol, scale)
	}
	return gap, nil
}

// certify sets p = Sx − θ and returns the gap at x and the scale of the objective there.
func (m *Mahalanobis) certify(set Set) (gap, scale float64, err error) {
	linalg.MulSymmetric(m.p, m.s, m.x)
	scale = float64(0.5*vec.Dot(m.p, m.x)) + math.Abs(vec.Dot(m.theta, m.x))
	for i := range m.p {
		m.p[i] -= m.theta[i]
	}
	if !unattained(set, m.w, m.p) {
		if _, err := set.Minimize(m.v, m.p); err != nil {
			return math.Inf(1), scale, noregret.BadInputf("mahalanobis",
				"the set %s is unbounded and not one of this package: %w", set, err)
		}
		for i, x := range m.x {
			gap += float64(m.p[i] * (x - m.v[i]))
		}
		return max(gap, 0), scale, nil
	}
	for i := range m.p {
		m.p[i] -= m.w[i]
	}
	if gap, err = linearGap(set, m.p, m.x, m.v); err != nil {
		return math.Inf(1), scale, err
	}
	linalg.SolveRT(m.r, m.d, m.w)
	return gap + float64(0.5*vec.Dot(m.w, m.w)), scale, nil
}

// unattained writes to w a part of p such that ⟨p − w, ·⟩ has a minimum on the set. For a bounded
// set it reports false and leaves w unchanged.
func unattained(set Set, w, p []float64) bool {
	switch set := set.(type) {
	case *Space:
		copy(w, p)
	case *Box:
		if set.bounded {
			return false
		}
		copy(w, p)
		for i, v := range p {
			if !(v > 0 && math.IsInf(set.lower[i], 0) || v < 0 && math.IsInf(set.upper[i], 0)) {
				w[i] = 0
			}
		}
	case *Halfspace:
		copy(w, p)
		t := min(vec.Dot(p, set.a)/set.square, 0)
		vec.AddScaled(w, -t, set.a)
	case *Affine:
		copy(w, p)
		for _, q := range set.rows {
			vec.AddScaled(w, -vec.Dot(q, w), q)
		}
	case *Product:
		if !math.IsInf(set.diameter, 1) {
			return false
		}
		for k, s := range set.sets {
			i, j := set.starts[k], set.starts[k+1]
			if !unattained(s, w[i:j], p[i:j]) {
				clear(w[i:j])
			}
		}
	default:
		return false
	}
	return true
}

// linearGap is ⟨p, x⟩ − min_{v∈V}⟨p, v⟩ for a p that has a minimum; v is scratch.
func linearGap(set Set, p, x, v []float64) (gap float64, err error) {
	switch set := set.(type) {
	case *Space:
		return 0, nil
	case *Halfspace: // p = t·a with t ≤ 0: ⟨p,x⟩ − t·b
		excess, _ := set.excess(x)
		gap = vec.Dot(p, set.a) / set.square * excess
	case *Affine: // constant on the set
		for k, q := range set.rows {
			gap += float64(vec.Dot(q, p) * (vec.Dot(q, x) - set.right[k]))
		}
	case *Product:
		for k, s := range set.sets {
			i, j := set.starts[k], set.starts[k+1]
			part, err := linearGap(s, p[i:j], x[i:j], v[i:j])
			if err != nil {
				return 0, err
			}
			gap += part
		}
	default:
		if _, err := set.Minimize(v, p); err != nil {
			return 0, noregret.BadInputf("mahalanobis", "the set %s is unbounded and not one of this package: %w", set,
				err)
		}
		for i, t := range x {
			gap += float64(p[i] * (t - v[i]))
		}
	}
	return math.Abs(gap), nil
}

// ball solves for y = x − x0 with θ − Sx0.
func (m *Mahalanobis) ball(b *Ball) {
	if m.tri == nil {
		if m.ownTri == nil {
			m.ownTri = linalg.NewTridiagonal(m.d)
		}
		m.tri = m.ownTri
		m.tri.Factor(m.s, m.w)
	}
	copy(m.x, m.theta)
	if b.center != nil {
		for i := range m.x {
			m.x[i] -= vec.Dot(m.s[i*m.d:(i+1)*m.d], b.center)
		}
	}
	m.tri.MinimizeOnBall(m.x, b.radius, m.p, m.v, m.w)
	for i := range m.x {
		m.x[i] += b.at(i)
	}
}

// halfspace: x = c − S⁻¹a·(⟨a,c⟩−b)/(aᵀS⁻¹a).
func (m *Mahalanobis) halfspace(h *Halfspace) {
	copy(m.v, h.a)
	linalg.SolveRT(m.r, m.d, m.v)
	square := vec.Dot(m.v, m.v)
	linalg.SolveR(m.r, m.d, m.v)
	for range 2 {
		e, _ := h.excess(m.x)
		vec.AddScaled(m.x, -e/square, m.v)
	}
}

// affine: x = c − S⁻¹Qᵀ(QS⁻¹Qᵀ)⁻¹(Qc−b'), twice. Row k of equations is R⁻ᵀq_k.
func (m *Mahalanobis) affine(a *Affine) {
	d, k := m.d, len(a.rows)
	m.grow()
	if len(m.equations) < d*d {
		m.equations = make([]float64, d*d)
	}
	for i, q := range a.rows {
		row := m.equations[i*d : (i+1)*d]
		copy(row, q)
		linalg.SolveRT(m.r, d, row)
	}
	for i := range k {
		for j := range k {
			m.face[i*k+j] = vec.Dot(m.equations[i*d:(i+1)*d], m.equations[j*d:(j+1)*d])
		}
	}
	if !linalg.Factorize(m.face[:k*k], k) {
		return // the certificate will be large
	}
	for range 2 {
		u := m.z[:k]
		for i, q := range a.rows {
			u[i] = vec.Dot(q, m.x) - a.right[i]
		}
		linalg.SolveRT(m.face, k, u)
		linalg.SolveR(m.face, k, u)
		clear(m.v)
		for i := range k {
			vec.AddScaled(m.v, -u[i], m.equations[i*d:(i+1)*d])
		}
		linalg.SolveR(m.r, d, m.v)
		vec.AddScaled(m.x, 1, m.v)
	}
}

func (m *Mahalanobis) grow() {
	if len(m.face) < m.d*m.d {
		m.face = make([]float64, m.d*m.d)
	}
}

// bounded solves over l ≤ x ≤ u, with Σx fixed where sum is set. The objective falls with every
// step, and the steps on the free coordinates end at the minimizer once the active set is right.
func (m *Mahalanobis) bounded(set Set, b sided, sum bool, tol float64) {
	m.grow()
	set.Project(m.x, m.x)
	last, stalled := math.Inf(1), 0
	for range 1000 {
		gap, scale, _ := m.certify(set)
		if gap <= float64(0.5*tol*scale) || stalled > 5 && gap <= float64(tol*scale) || stalled > 20 {
			return
		}
		if gap < 0.9*last {
			last, stalled = gap, 0
		} else {
			stalled++
		}
		m.gradient()
		if sum {
			m.pairDescent(b)
		} else {
			m.coordinateDescent(b)
		}
		for range 4 {
			m.gradient()
			done := m.faceStep(b, sum)
			if sum {
				m.restoreSum(set, b)
			}
			if done {
				break
			}
		}
	}
}

func (m *Mahalanobis) gradient() {
	linalg.MulSymmetric(m.p, m.s, m.x)
	for i := range m.p {
		m.p[i] -= m.theta[i]
	}
}

// coordinateDescent minimizes exactly in each coordinate in turn and updates p.
func (m *Mahalanobis) coordinateDescent(b sided) {
	for i := range m.x {
		l, u := b.Bounds(i)
		row := m.s[i*m.d : (i+1)*m.d]
		next := clip(m.x[i]-m.p[i]/row[i], l, u)
		if step := next - m.x[i]; step != 0 {
			m.x[i] = next
			vec.AddScaled(m.p, step, row)
		}
	}
}

// pairDescent moves mass exactly, d times, from the coordinate with the largest slope that can fall
// to the one with the smallest that can rise.
func (m *Mahalanobis) pairDescent(b sided) {
	d := m.d
	for range d {
		i, j := -1, -1
		for k, p := range m.p {
			l, u := b.Bounds(k)
			if m.x[k] < u && (i < 0 || p < m.p[i]) {
				i = k
			}
			if m.x[k] > l && (j < 0 || p > m.p[j]) {
				j = k
			}
		}
		if i < 0 || j < 0 || !(m.p[j] > m.p[i]) {
			return
		}
		_, ui := b.Bounds(i)
		lj, _ := b.Bounds(j)
		curve := m.s[i*d+i] + m.s[j*d+j] - 2*m.s[i*d+j]
		step := (m.p[j] - m.p[i]) / curve
		up, down := ui-m.x[i], m.x[j]-lj
		switch {
		case !(step < up) && up <= down:
			step, m.x[i] = up, ui
			m.x[j] -= step
		case !(step < down):
			step, m.x[j] = down, lj
			m.x[i] += step
		default:
			m.x[i] += step
			m.x[j] -= step
		}
		vec.AddScaled(m.p, step, m.s[i*d:(i+1)*d])
		vec.AddScaled(m.p, -step, m.s[j*d:(j+1)*d])
	}
}

// faceStep moves towards the minimizer over the free coordinates, with the others fixed, as far as
// the sides allow. It reports whether it reached the minimizer.
func (m *Mahalanobis) faceStep(b sided, sum bool) bool {
	d := m.d
	m.free = m.free[:0]
	for i, x := range m.x {
		if l, u := b.Bounds(i); x > l && x < u {
			m.free = append(m.free, i)
		}
	}
	n := len(m.free)
	if n == 0 || sum && n == 1 {
		return true
	}
	for a, i := range m.free {
		for c, j := range m.free {
			m.face[a*n+c] = m.s[i*d+j]
		}
		m.onFree[a], m.onesOnFree[a] = -m.p[i], 1
	}
	if !linalg.Factorize(m.face[:n*n], n) {
		return true
	}
	z := m.onFree[:n]
	linalg.SolveRT(m.face, n, z)
	linalg.SolveR(m.face, n, z)
	if sum {
		ones := m.onesOnFree[:n]
		linalg.SolveRT(m.face, n, ones)
		linalg.SolveR(m.face, n, ones)
		vec.AddScaled(z, -vec.Sum(z)/vec.Sum(ones), ones)
	}
	step, hit := 1.0, -1
	for a, i := range m.free {
		l, u := b.Bounds(i)
		longest := math.Inf(1)
		switch {
		case z[a] > 0:
			longest = (u - m.x[i]) / z[a]
		case z[a] < 0:
			longest = (l - m.x[i]) / z[a]
		}
		if longest < step {
			step, hit = longest, a
		}
	}
	for a, i := range m.free {
		l, u := b.Bounds(i)
		x := clip(m.x[i]+float64(step*z[a]), l, u)
		if a == hit {
			x = l
			if z[a] > 0 {
				x = u
			}
		}
		m.x[i] = x
	}
	return hit < 0
}

// restoreSum corrects the sum for the rounding of a long step, at the coordinate that is furthest
// from its sides. Projecting the point would move all coordinates off their sides.
func (m *Mahalanobis) restoreSum(set Set, b sided) {
	var want float64
	switch set := set.(type) {
	case *Simplex:
		want = set.s
	case *CappedSimplex:
		want = set.sum
	}
	for range 3 {
		if set.Contains(m.x, 0) {
			return
		}
		k, most := 0, 0.0
		for i, x := range m.x {
			l, u := b.Bounds(i)
			if d := min(x-l, u-x); d > most {
				k, most = i, d
			}
		}
		l, u := b.Bounds(k)
		m.x[k] = clip(m.x[k]+(want-vec.Sum(m.x)), l, u)
	}
}

// accelerated is the projected gradient method with Nesterov's momentum, restarted when the
// momentum points uphill; the step is one over the largest row sum of |S|.
func (m *Mahalanobis) accelerated(set Set, tol float64) error {
	top := 0.0
	for i := range m.d {
		sum := 0.0
		for _, v := range m.s[i*m.d : (i+1)*m.d] {
			sum += math.Abs(v)
		}
		top = max(top, sum)
	}
	set.Project(m.x, m.x)
	y, momentum := m.z, 1.0
	copy(y, m.x)
	for iteration := range 20000 {
		if iteration%10 == 0 {
			gap, scale, err := m.certify(set)
			if err != nil {
				return err
			}
			if gap <= float64(0.5*tol*scale) {
				return nil
			}
		}
		linalg.MulSymmetric(m.p, m.s, y)
		for i := range m.p {
			m.v[i] = y[i] - (m.p[i]-m.theta[i])/top
		}
		set.Project(m.w, m.v)
		next := 0.5 + float64(0.5*math.Sqrt(1+float64(4*float64(momentum*momentum))))
		beta := (momentum - 1) / next
		uphill := 0.0
		for i, x := range m.w {
			uphill += float64((y[i] - x) * (x - m.x[i]))
		}
		if uphill > 0 {
			beta, next = 0, 1
		}
		for i, x := range m.w {
			y[i] = x + float64(beta*(x-m.x[i]))
			m.x[i] = x
		}
		momentum = next
	}
	return nil
}
