package drift

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot/snapshottest"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
)

// restarting restarts a learner of the catalogue every given number of rounds.
func restarting(e *oco.Entry, p oco.Problem, rounds int) (*Restarted, error) {
	trigger, err := forget.Every(rounds)
	if err != nil {
		return nil, err
	}
	return NewRestarted(RestartedOptions{
		Make: func([]float64) (oco.Learner, error) { return e.New(p, nil) }, Trigger: trigger,
	})
}

// TestRestartEqualsFresh: in every batch every learner of the catalogue plays bit for bit what a
// fresh learner plays that gets the batch alone.
func TestRestartEqualsFresh(t *testing.T) {
	const size, rounds = 7, 25
	forCatalogue(t, size, func(t *testing.T, e *oco.Entry, g game) {
		l := must(restarting(e, g.problem, size))
		var fresh oco.Learner
		r := random.New(1, e.Name)
		for round := range rounds {
			if round%size == 0 {
				fresh = must(oco.NewLinearized(must(e.New(g.problem, nil))))
			}
			f := g.next(r, round)
			x, y := play(t, l, f), play(t, fresh, f)
			for i := range x {
				if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
					t.Fatalf("round %d: restarted %v, fresh %v", round+1, x, y)
				}
			}
		}
		if l.Batch() != rounds/size || l.Age() != rounds%size || l.Rounds() != rounds {
			t.Errorf("batch %d, age %d, %d rounds", l.Batch(), l.Age(), l.Rounds())
		}
	})
}

// TestOracleO10MetaPrinciple checks Proposition 2 for every learner: on random squared distances,
// whose optima are known in closed form, the regret against the minimizers of all rounds is at most
// the sum over the batches of the static regret, which the learner's own bound covers, and 2Δ times
// the variation.
func TestOracleO10MetaPrinciple(t *testing.T) {
	const size, rounds = 9, 90
	checked := map[string]bool{}
	forCatalogue(t, size, func(t *testing.T, e *oco.Entry, g game) {
		if !g.problem.SquaredDistance {
			return
		}
		set := g.problem.Set
		hull := set // a set that contains the minimizers, over which the variation is taken
		if math.IsInf(set.Diameter(), 1) {
			hull = must(convex.NewCube(set.Dim(), -1, 1))
		}
		checked[e.Name] = true
		l := must(restarting(e, g.problem, size))
		r := random.New(2, e.Name)
		dynamic, static, guaranteed, variation := 0.0, 0.0, 0.0, 0.0
		var points, centers [][]float64
		var before *loss.SquaredDistance
		best := make([]float64, set.Dim())
		for round := range rounds {
			f := g.next(r, round).(*loss.SquaredDistance)
			if before != nil {
				variation += distanceVariation(hull, before, f)
			}
			before = f
			batch := l.Learner()
			x := play(t, l, f)
			set.Project(best, f.C)
			dynamic += f.Value(x) - f.Value(best)
			points, centers = append(points, x), append(centers, f.C)
			if len(points) < size {
				continue
			}
			set.Project(best, mean(centers)) // the sum of squared distances is one to the mean
			for k, c := range centers {
				f := loss.SquaredDistance{C: c}
				static += f.Value(points[k]) - f.Value(best)
			}
			guaranteed += must(batch.(oco.Bounder).Bound(best))
			points, centers = nil, nil
		}
		slack := 2 * size * variation
		if dynamic > static+slack+1e-9 {
			t.Errorf("regret %v above the static regret %v and 2ΔV = %v", dynamic, static, slack)
		}
		if static > guaranteed+1e-9 {
			t.Errorf("static regret %v of the batches above the sum of their bounds, %v", static, guaranteed)
		}
	})
	for _, e := range oco.Learners() {
		if !checked[e.Name] && e.Name != "vaw" { // see the next test
			t.Errorf("%s plays no game of squared distances", e.Name)
		}
	}
}

// TestOracleO10MetaPrincipleRegression is the same for the learner that plays regression only: ½(x
// − y_t)² with labels in [-1, 1], the hull of the minimizers.
func TestOracleO10MetaPrincipleRegression(t *testing.T) {
	const size, rounds = 9, 90
	l := must(NewRestarted(RestartedOptions{
		Make:    func([]float64) (oco.Learner, error) { return oco.NewVovkAzouryWarmuth(1, 1) },
		Trigger: must(forget.Every(size)),
	}))
	r := random.New(2, "regression")
	dynamic, static, guaranteed, variation := 0.0, 0.0, 0.0, 0.0
	var labels []float64
	for round := range rounds {
		y := .8*math.Sin(float64(round)/9) + .4*(r.Float64()-.5)
		if n := len(labels); n > 0 {
			// ½(y−z)(y+z−2x) is largest at x = ±1.
			z := labels[n-1]
			variation += math.Abs(y-z) * (1 + math.Abs(y+z)/2)
		}
		labels = append(labels, y)
		batch := l.Learner()
		if err := l.Features([]float64{1}); err != nil {
			t.Fatal(err)
		}
		x := l.Predict()[0]
		if err := l.Update([]float64{x - y}); err != nil {
			t.Fatal(err)
		}
		dynamic += (x - y) * (x - y) / 2
		static += (x - y) * (x - y) / 2
		if (round+1)%size > 0 {
			continue
		}
		last := labels[len(labels)-size:]
		mean := vec.Sum(last) / size
		for _, y := range last {
			static -= (mean - y) * (mean - y) / 2
		}
		guaranteed += must(batch.(oco.Bounder).Bound([]float64{mean}))
	}
	if dynamic > static+2*size*variation || static > guaranteed+1e-9 {
		t.Errorf("regret %v, static %v, bounds %v, variation %v", dynamic, static, guaranteed, variation)
	}
}

// distanceVariation is the largest |f − g| in the set. The difference of two squared distances is
// linear.
func distanceVariation(set convex.Set, f, g *loss.SquaredDistance) float64 {
	c, x := make([]float64, set.Dim()), make([]float64, set.Dim())
	for i := range c {
		c[i] = 2 * (f.C[i] - g.C[i])
	}
	constant := vec.Dot(g.C, g.C) - vec.Dot(f.C, f.C)
	least := must(set.Minimize(x, c)) + constant
	vec.Scale(c, -1)
	return max(-least, -must(set.Minimize(x, c))+constant)
}

// moving is ½(x−b)² on [-2, 2], whose gradient is x − b.
func moving(l *Restarted, b []float64) (actions []float64) {
	for _, v := range b {
		x := l.Predict()[0]
		actions = append(actions, x)
		if err := l.Update([]float64{x - v}); err != nil {
			panic(err)
		}
	}
	return actions
}

func TestOracleO4Restarts(t *testing.T) {
	set, start := must(convex.NewCube(1, -2, 2)), []float64{.5}
	b := []float64{1, 1, 1, 0, 0, 0, 0}
	for _, c := range []struct {
		name    string
		trigger forget.Trigger
		mode    Mode
		rate    oco.Rate
		want    []float64
	}{
		{"schedule", must(forget.Every(3)), Schedule, oco.StronglyConvex(1), []float64{.5, 1, 1, 1, 0, 0, 0}},
		{"project", must(forget.Every(3)), Project, oco.StronglyConvex(1), []float64{.5, 1, 1, 1, 0, 0, 0}},
		{"full", must(forget.Every(3)), Full, oco.StronglyConvex(1), []float64{.5, 1, 1, .5, 0, 0, .5}},
		{"none", forget.Never(), Full, oco.StronglyConvex(1), []float64{.5, 1, 1, 1, .75, .6, .5}},
		{"constant step", must(forget.Every(3)), Schedule, oco.Constant(1 / math.Sqrt(3)), []float64{
			.5, .7886751346, .9106836025, .9622504486, .4066948931, .1718894871, .0726490454,
		}},
	} {
		l := must(NewRestarted(RestartedOptions{
			Make: Descent(set, start, c.rate), Trigger: c.trigger, Mode: c.mode, Set: set,
		}))
		for i, x := range moving(l, b) {
			near(t, c.name, x, c.want[i])
		}
	}
}

// TestOracleO10Batches: with batches of all rounds it is the learner, with batches of one round in
// mode full it stays at the first point.
func TestOracleO10Batches(t *testing.T) {
	set := must(convex.NewCube(2, -1, 1))
	r := random.New(3, "extremes")
	bare := must(oco.NewSubgradientDescent(set, []float64{.5, 0}, oco.Constant(.1)))
	all := must(NewRestarted(RestartedOptions{
		Make: Descent(set, []float64{.5, 0}, oco.Constant(.1)), Trigger: must(forget.Every(50)),
	}))
	one := must(NewRestarted(RestartedOptions{
		Make: Descent(set, []float64{.5, 0}, oco.Constant(.1)), Trigger: must(forget.Every(1)),
	}))
	for range 50 {
		if !slices.Equal(bare.Predict(), all.Predict()) || !slices.Equal(one.Predict(), []float64{.5, 0}) {
			t.Fatalf("%v, %v, %v", bare.Predict(), all.Predict(), one.Predict())
		}
		g := []float64{r.Float64() - .5, r.Float64() - .5}
		for _, l := range []oco.Learner{bare, all, one} {
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRestartedProjects: the next batch begins at the projection of the last point.
func TestRestartedProjects(t *testing.T) {
	set, inner := must(convex.NewCube(1, -2, 2)), must(convex.NewCube(1, -1, 1))
	l := must(NewRestarted(RestartedOptions{
		Make: Descent(set, nil, oco.Constant(1)), Trigger: must(forget.Every(2)), Mode: Project, Set: inner,
	}))
	var got []float64
	for range 4 {
		got = append(got, l.Predict()[0])
		if err := l.Update([]float64{-.75}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, []float64{0, .75, 1, 1.75}) {
		t.Errorf("points %v", got)
	}
}

// TestRestartedDetects: a detector of the losses restarts soon after the change and not before.
func TestRestartedDetects(t *testing.T) {
	set := must(convex.NewCube(1, -2, 2))
	trigger := must(forget.DetectRise(must(changepoint.NewPageHinkley(changepoint.PageHinkleyOptions{
		Drift: .05, Threshold: 1, Rounds: 10,
	})), 0, 4))
	l := must(NewRestarted(RestartedOptions{Make: Descent(set, nil, oco.StronglyConvex(2)), Trigger: trigger}))
	if l.Update([]float64{1}) == nil {
		t.Error("a round without a loss was accepted")
	}
	for round := range 200 {
		c := []float64{.5}
		if round >= 150 {
			c[0] = -1.5
		}
		if err := l.UpdateLoss(must(loss.NewSquaredDistance(c))); err != nil {
			t.Fatal(err)
		}
		if round < 150 && l.Batch() > 0 {
			t.Fatalf("a restart in round %d", round+1)
		}
	}
	if l.Batch() != 1 || l.Rounds()-l.Age() > 155 {
		t.Errorf("%d restarts, the last after round %d", l.Batch(), l.Rounds()-l.Age())
	}
	if x := l.Predict()[0]; math.Abs(x+1.5) > .1 {
		t.Errorf("x = %v long after the change", x)
	}
}

// TestRestartedForwards: hints, features and sparse subgradients reach the learner, and Bound grows
// by the static bound of a finished batch.
func TestRestartedForwards(t *testing.T) {
	const d = 3
	set := must(convex.NewCube(d, -1, 1))
	l := must(NewRestarted(RestartedOptions{
		Make:    func([]float64) (oco.Learner, error) { return oco.NewVovkAzouryWarmuth(d, 1) },
		Trigger: must(forget.Every(2)),
	}))
	bare := must(oco.NewVovkAzouryWarmuth(d, 1))
	for _, x := range []interface{ Features(z []float64) error }{l, bare} {
		if err := x.Features([]float64{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(l.Predict(), bare.Predict()) {
		t.Error("the features did not arrive")
	}
	optimistic := func([]float64) (oco.Learner, error) {
		reg, err := convex.Restrict(must(convex.NewQuadratic(d)), set)
		if err != nil {
			return nil, err
		}
		return oco.NewOptimisticFTRL(reg, oco.ConstantWeight(1))
	}
	h := must(NewRestarted(RestartedOptions{Make: optimistic, Trigger: must(forget.Every(2))}))
	if err := h.Hint([]float64{.5, 0, -.5}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Predict(), []float64{-.5, 0, .5}) {
		t.Errorf("x = %v after a hint", h.Predict())
	}
	s := must(NewRestarted(RestartedOptions{
		Make: Descent(set, nil, oco.Constant(.1)), Trigger: must(forget.Every(2)),
		Static: func(n int) float64 { return 10 * float64(n) },
	}))
	for range 3 {
		if err := s.UpdateSparse(oco.Sparse{Index: []uint32{1}, Value: []float64{2}}); err != nil {
			t.Fatal(err)
		}
	}
	if s.At(1) != s.Predict()[1] || s.At(1) != -.2 {
		t.Errorf("coordinate 1 is %v and %v", s.At(1), s.Predict()[1])
	}
	near(t, "Bound", must(s.Bound(make([]float64, d))), 20+.1/2*4)
	near(t, "DynamicBound", must(s.DynamicBound(.5)), 30+2*2*.5)
	if err := s.UpdateCurved(make([]float64, d), -1); err == nil {
		t.Error("a negative curvature was accepted")
	}
}

// TestRestartedSnapshots restores every learner of the catalogue in the middle of a batch, in the
// mode full, and descent in the mode schedule.
func TestRestartedSnapshots(t *testing.T) {
	continues := func(t *testing.T, g game, a, b *Restarted) {
		r := random.New(5, "snapshot")
		for round := range 17 {
			play(t, a, g.next(r, round))
		}
		snapshottest.Restore(t, a, b)
		for round := range 12 {
			f := g.next(r, round)
			if x, y := play(t, a, f), play(t, b, f); !slices.Equal(x, y) {
				t.Fatalf("round %d: %v, restored %v", round+1, x, y)
			}
		}
	}
	forCatalogue(t, 7, func(t *testing.T, e *oco.Entry, g game) {
		continues(t, g, must(restarting(e, g.problem, 7)), must(restarting(e, g.problem, 7)))
	})
	make := func() *Restarted {
		set := must(convex.NewCube(3, -1, 1))
		return must(NewRestarted(RestartedOptions{
			Make: Descent(set, nil, oco.StronglyConvex(1)), Trigger: must(forget.Every(7)), Mode: Schedule,
			Static: func(n int) float64 { return float64(n) },
		}))
	}
	continues(t, games(7)[0], make(), make())
}

func TestRestartedRefuses(t *testing.T) {
	set := must(convex.NewCube(2, -1, 1))
	start := Descent(set, nil, oco.Constant(.1))
	every := must(forget.Every(3))
	for name, o := range map[string]RestartedOptions{
		"no function": {Trigger: every},
		"no trigger":  {Make: start},
		"mode":        {Make: start, Trigger: every, Mode: 7},
		"no set":      {Make: start, Trigger: every, Mode: Project},
		"other set":   {Make: start, Trigger: every, Mode: Project, Set: must(convex.NewSpace(3))},
		"nil learner": {Make: func([]float64) (oco.Learner, error) { return nil, nil }, Trigger: every},
	} {
		_, err := NewRestarted(o)
		refused(t, name, err)
	}
	l := must(NewRestarted(RestartedOptions{Make: start, Trigger: every}))
	if err := l.Update([]float64{1, 0}); err != nil {
		t.Fatal(err)
	}
	before := must(l.MarshalBinary())
	nan := math.NaN()
	refused(t, "NaN", l.Update([]float64{nan, 0}))
	refused(t, "length", l.Update([]float64{1}))
	refused(t, "sparse", l.UpdateSparse(oco.Sparse{Index: []uint32{9}, Value: []float64{1}}))
	refused(t, "loss", l.Loss(nan))
	refused(t, "nil loss", l.UpdateLoss(nil))
	_, err := l.DynamicBound(-1)
	refused(t, "variation", err)
	if !slices.Equal(before, must(l.MarshalBinary())) {
		t.Error("a refused call changed the learner")
	}
}

func TestRestartedFails(t *testing.T) {
	set := must(convex.NewCube(2, -1, 1))
	calls := 0
	l := must(NewRestarted(RestartedOptions{
		Make: func(start []float64) (oco.Learner, error) {
			if calls++; calls > 1 {
				return nil, convex.ErrUnbounded
			}
			return Descent(set, nil, oco.Constant(.1))(start)
		}, Trigger: must(forget.Every(2)),
	}))
	g := []float64{1, 1}
	for round, want := range []bool{true, false, false} {
		if err := l.Update(g); (err == nil) != want {
			t.Errorf("round %d: %v", round+1, err)
		}
	}
}

// TestRestartedAllocates: a round without a restart allocates nothing, whatever the learner.
func TestRestartedAllocates(t *testing.T) {
	forCatalogue(t, 1000, func(t *testing.T, e *oco.Entry, g game) {
		if g.problem.Features || e.Name == "mean-leader" {
			return
		}
		l := must(restarting(e, g.problem, 1000))
		grad := []float64{.1, -.2, .05}
		round := func() {
			if l.Predict(); l.Update(grad) != nil {
				t.Fatal("refused")
			}
		}
		round()
		bare := must(e.New(g.problem, nil))
		alone := testing.AllocsPerRun(20, func() { _, _ = bare.Predict(), bare.Update(grad) })
		if n := testing.AllocsPerRun(20, round); n > alone {
			t.Errorf("%v allocations a round, the learner alone %v", n, alone)
		}
	})
}
