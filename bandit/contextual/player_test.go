package contextual

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/oco"
)

// saved is a player of this package.
type saved interface {
	Player
	AddArm() (int, error)
	RetireArm(k int) error
	Count() uint64
	Waiting() int
	MarshalBinary() ([]byte, error)
	UnmarshalBinary(data []byte) error
	String() string
}

// makers make each kind of player, with separate and with shared weights.
func makers() map[string]func(o PlayerOptions) (saved, error) {
	linear := func(o PlayerOptions) LinearOptions {
		l := DefaultLinearOptions(o.Arms, o.Dim)
		l.PlayerOptions = o
		return l
	}
	square := func(o PlayerOptions) SquareCBOptions {
		s := DefaultSquareCBOptions(o.Arms, o.Dim)
		s.PlayerOptions = o
		return s
	}
	return map[string]func(o PlayerOptions) (saved, error){
		"lin-ucb": func(o PlayerOptions) (saved, error) { return NewLinUCB(linear(o)) },
		"oful": func(o PlayerOptions) (saved, error) {
			l := linear(o)
			l.Confidence = &Confidence{Noise: 1, Norm: 2, Delta: 0.01}
			return NewLinUCB(l)
		},
		"lin-thompson":        func(o PlayerOptions) (saved, error) { return NewLinThompson(linear(o)) },
		"squarecb over ridge": func(o PlayerOptions) (saved, error) { return NewSquareCB(square(o), ridgeOf(o.Dim)) },
		"squarecb over coin betting": func(o PlayerOptions) (saved, error) {
			wide := square(o)
			wide.Low, wide.High = -5, 5
			return NewSquareCB(wide, func() (Regressor, error) {
				// Vectors have at most length 2, so that subgradients have at most length 20.
				kt, err := oco.NewEuclideanKT(o.Dim, 20, 1)
				if err != nil {
					return nil, err
				}
				return NewDescent(kt, -5, 5)
			})
		},
	}
}

func ridgeOf(dim int) func() (Regressor, error) {
	return func() (Regressor, error) { return NewRidge(dim, 1) }
}

func eachPlayer(t *testing.T, o PlayerOptions, f func(t *testing.T, o PlayerOptions, fresh func() saved)) {
	for name, fresh := range makers() {
		for _, shared := range []bool{false, true} {
			o := o
			o.Shared = shared
			t.Run(fmt.Sprintf("%s/shared=%v", name, shared), func(t *testing.T) {
				f(t, o, func() saved {
					p, err := fresh(o)
					if err != nil {
						t.Fatal(err)
					}
					return p
				})
			})
		}
	}
}

// contexts draws a context that serves players with separate and with shared weights.
func contexts(r *random.Source, arms, dim int) Context {
	c := Context{X: contextOf(r, dim)}
	for range arms {
		c.Rows = append(c.Rows, contextOf(r, dim))
	}
	return c
}

func mustDraw(t testing.TB, p Player, r *random.Source, c Context) Choice {
	choice, err := p.Draw(r, c)
	if err != nil {
		t.Fatal(err)
	}
	return choice
}

// reward is linear in the arm's vector, with noise.
func reward(r *random.Source, c Context, arm int) float64 {
	return 0.5*c.X[1]*float64(arm) + c.Rows[arm][1] + 0.3*stat.Normal(r)
}

// train plays rounds with rewards of different delays, a tenth of which never come.
func train(t testing.TB, p Player, r *random.Source, rounds, dim int) {
	type late struct {
		id uint64
		y  float64
	}
	var queue []late
	for range rounds {
		c := contexts(r, p.Arms(), dim)
		choice := mustDraw(t, p, r, c)
		if r.Float64() < 0.9 {
			queue = append(queue, late{choice.ID, reward(r, c, choice.Arm)})
		}
		if len(queue) > 5 {
			i := r.IntN(len(queue))
			if err := p.Update(queue[i].id, queue[i].y); err != nil {
				t.Fatal(err)
			}
			queue = append(queue[:i], queue[i+1:]...)
		}
	}
}

// TestPropensities draws often in the same state, with arms that are retired, added and not
// allowed: the frequencies must be the distribution, and the propensity that of the arm drawn.
func TestPropensities(t *testing.T) {
	draws := testsize.Of(20_000, 4000)
	eachPlayer(t, PlayerOptions{Arms: 4, Dim: 3, Floor: 0.2, Pending: 200},
		func(t *testing.T, o PlayerOptions, fresh func() saved) {
			r, p := random.New(1, t.Name()), fresh()
			train(t, p, r, 60, 3)
			if _, err := p.AddArm(); err != nil {
				t.Fatal(err)
			}
			if err := p.RetireArm(1); err != nil {
				t.Fatal(err)
			}
			for _, allowed := range [][]bool{nil, {true, true, false, true, true}, {false, true, false, true, false}} {
				c := contexts(r, 5, 3)
				c.Allowed = allowed
				if allowed != nil {
					c.Rows[2] = nil
				}
				want, err := p.Distribution(nil, c)
				if err != nil {
					t.Fatal(err)
				}
				live, sum := 0, 0.0
				for k, v := range want {
					if k != 1 && (allowed == nil || allowed[k]) {
						live++
					} else if v != 0 {
						t.Fatalf("%v: arm %d is drawn", want, k)
					}
					sum += v
				}
				count := make([]float64, 5)
				for range draws {
					choice := mustDraw(t, p, r, c)
					if choice.Propensity != want[choice.Arm] {
						t.Fatalf("%+v, want propensity %v", choice, want)
					}
					count[choice.Arm]++
				}
				for k, v := range want {
					if e := math.Sqrt(v * (1 - v) / float64(draws)); math.Abs(count[k]/float64(draws)-v) > 5*e+1e-12 {
						t.Errorf("allowed %v: arm %d drawn %v, want %v", allowed, k, count[k]/float64(draws), v)
					}
					if v > 0 && v < 0.2/float64(live)-1e-12 || math.Abs(sum-1) > 1e-9 {
						t.Errorf("%v: below the floor, or sum %v", want, sum)
					}
				}
			}
		})
}

// TestPlayerSnapshot saves with choices that wait, and continues bit for bit.
func TestPlayerSnapshot(t *testing.T) {
	o := PlayerOptions{Arms: 3, Dim: 3, Pending: 200}
	eachPlayer(t, o, func(t *testing.T, o PlayerOptions, fresh func() saved) {
		a, b := fresh(), fresh()
		train(t, a, random.New(2, "a"), 50, 3)
		if _, err := a.AddArm(); err != nil {
			t.Fatal(err)
		}
		if err := a.RetireArm(0); err != nil {
			t.Fatal(err)
		}
		data, err := a.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if a.Waiting() != b.Waiting() || a.Count() != b.Count() || a.Waiting() == 0 {
			t.Errorf("%d and %d wait", a.Waiting(), b.Waiting())
		}
		train(t, a, random.New(3, "b"), 50, 3)
		train(t, b, random.New(3, "b"), 50, 3)
		one, err := a.MarshalBinary()
		two, err2 := b.MarshalBinary()
		if err != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Errorf("a restored player continues otherwise: %v, %v", err, err2)
		}
		if b.UnmarshalBinary(data[:len(data)-2]) == nil {
			t.Error("a damaged snapshot is restored")
		}
		o.Floor = 0.5
		for _, fresh := range makers() {
			if p, err := fresh(o); err != nil || p.UnmarshalBinary(data) == nil {
				t.Errorf("%v restores the snapshot of %v (%v)", p, a, err)
			}
		}
	})
}

// TestLateRewards checks the memory of choices: each reward counts once, and old choices are
// forgotten.
func TestLateRewards(t *testing.T) {
	o := DefaultLinearOptions(2, 2)
	o.Pending = 3
	p, err := NewLinUCB(o)
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(4, "late")
	for id := uint64(1); id <= 5; id++ {
		if c := mustDraw(t, p, r, contexts(r, 2, 2)); c.ID != id {
			t.Fatalf("%+v, want ID %d", c, id)
		}
	}
	for _, c := range []struct {
		id     uint64
		reward float64
		text   string
	}{
		{0, 1, "no such choice"},
		{6, 1, "no such choice; the last one is 5"},
		{2, 1, "forgotten: 3 choices came later, and at most 3 are kept"},
		{3, math.NaN(), "reward: NaN"},
		{3, 1, ""},
		{3, 1, "has a reward already"},
		{5, 1, ""},
		{4, 1, ""},
		{4, 1, "has a reward already"},
	} {
		err := p.Update(c.id, c.reward)
		if c.text == "" && err != nil || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("reward of %d: %v, want %q", c.id, err, c.text)
		}
	}
	if p.Count() != 3 || p.Waiting() != 0 {
		t.Errorf("%d rewards, %d wait", p.Count(), p.Waiting())
	}
}

// TestUpdateIsLearn compares rewards by ID with the same rewards by Learn.
func TestUpdateIsLearn(t *testing.T) {
	eachPlayer(t, defaultPlayerOptions(3, 4), func(t *testing.T, o PlayerOptions, fresh func() saved) {
		a, b, r := fresh(), fresh(), random.New(5, t.Name())
		for range 50 {
			c := contexts(r, 3, 4)
			choice := mustDraw(t, a, r, c)
			y := reward(r, c, choice.Arm)
			if err := a.Update(choice.ID, y); err != nil {
				t.Fatal(err)
			}
			if err := b.Learn(c, choice.Arm, y, 1); err != nil {
				t.Fatal(err)
			}
			p, err := a.Distribution(nil, c)
			q, err2 := b.Distribution(nil, c)
			if diff := cmp.Diff(p, q); err != nil || err2 != nil || diff != "" {
				t.Fatal(err, err2, diff)
			}
		}
	})
}

func TestPlayerErrors(t *testing.T) {
	eachPlayer(t, defaultPlayerOptions(3, 2), func(t *testing.T, o PlayerOptions, fresh func() saved) {
		p, r := fresh(), random.New(6, "errors")
		train(t, p, r, 20, 2)
		before, err := p.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		good := contexts(r, 3, 2)
		for _, change := range []func(c *Context){
			func(c *Context) { c.X, c.Rows = nil, nil },
			func(c *Context) { c.X, c.Rows = []float64{1}, [][]float64{{1}, {1}, {1}} },
			func(c *Context) { c.X, c.Rows = []float64{1, math.NaN()}, [][]float64{{1, 0}, {1, 0}, {1, 1e16}} },
			func(c *Context) { c.Allowed = []bool{true} },
			func(c *Context) { c.Allowed = []bool{false, false, false} },
		} {
			c := good
			change(&c)
			if _, err := p.Draw(r, c); err == nil {
				t.Errorf("%+v is accepted", c)
			}
		}
		for _, bad := range []struct {
			arm       int
			y, weight float64
		}{{-1, 1, 1}, {3, 1, 1}, {0, math.Inf(1), 1}, {0, 1, 0}, {0, 1, 1e10}} {
			if p.Learn(good, bad.arm, bad.y, bad.weight) == nil {
				t.Errorf("%+v is accepted", bad)
			}
		}
		if after, err := p.MarshalBinary(); err != nil || !bytes.Equal(before, after) {
			t.Errorf("a refused call changed the state (%v)", err)
		}
		for _, change := range []func(o *PlayerOptions){
			func(o *PlayerOptions) { o.Arms = 0 },
			func(o *PlayerOptions) { o.Arms = 1<<20 + 1 },
			func(o *PlayerOptions) { o.Dim, o.Pending = 1024, 1e7 },
			func(o *PlayerOptions) { o.Dim = 0 },
			func(o *PlayerOptions) { o.Dim = 1025 },
			func(o *PlayerOptions) { o.Floor = -1 },
			func(o *PlayerOptions) { o.Pending = -1 },
			func(o *PlayerOptions) { o.Pending = 0 },
		} {
			o := o
			change(&o)
			for name, fresh := range makers() {
				if _, err := fresh(o); err == nil {
					t.Errorf("%s accepts %+v", name, o)
				}
			}
		}
	})
}

// TestPlayerAllocations plays rounds after the memory of choices is full.
func TestPlayerAllocations(t *testing.T) {
	eachPlayer(t, PlayerOptions{Arms: 3, Dim: 10, Pending: 4}, func(t *testing.T, _ PlayerOptions, fresh func() saved) {
		p, r := fresh(), random.New(7, "allocations")
		c := contexts(r, 3, 10)
		c.X, c.Rows = c.X[:10], c.Rows[:3]
		for i := range c.X {
			c.X[i] /= 3
			for k := range c.Rows {
				c.Rows[k][i] /= 3
			}
		}
		round := func() {
			choice := mustDraw(t, p, r, c)
			if err := p.Update(choice.ID, 0.5); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			round()
		}
		// The race detector throws away some of the memory of package policy's pool.
		if n := testing.AllocsPerRun(100, round); n > float64(testsize.Of(0, 5)) {
			t.Errorf("%v allocations", n)
		}
	})
}

// BenchmarkPlayer has 20 arms and 100 features. A decision is a draw; a round is a draw and its
// reward.
func BenchmarkPlayer(b *testing.B) {
	for _, name := range []string{"lin-ucb", "lin-thompson", "squarecb over ridge"} {
		p, err := makers()[name](PlayerOptions{Arms: 20, Dim: 101, Pending: 100})
		if err != nil {
			b.Fatal(err)
		}
		r := random.New(8, "bench")
		cs := make([]Context, 256)
		for i := range cs {
			cs[i] = contexts(r, 20, 101)
		}
		play := func(i int, learn bool) {
			choice := mustDraw(b, p, r, cs[i%256])
			if !learn {
				return
			}
			if err := p.Update(choice.ID, reward(r, cs[i%256], choice.Arm)); err != nil {
				b.Fatal(err)
			}
		}
		for i := range 2000 {
			play(i, true)
		}
		for _, learn := range []bool{false, true} {
			what := "decision"
			if learn {
				what = "round"
			}
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					play(i, learn)
					i++
				}
			})
		}
	}
}

// BenchmarkObserve is an update of the service's learner with 100 features.
func BenchmarkObserve(b *testing.B) {
	l := mustLearner(b, DefaultLearnerOptions("lin-ucb", numbers(101), 20))
	r := random.New(9, "bench")
	x := contextOf(r, 101)
	i := 0
	for b.Loop() {
		mustObserve(b, l, i%20, x, 0.5, 1)
		i++
	}
}
