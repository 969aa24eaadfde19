package bandit

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

func init() { testsize.Rapid(20) }

// delayed wraps a new player.
func delayed(t testing.TB, p Algorithm, window int) *Delayed {
	t.Helper()
	d, err := NewDelayed(p, DelayedOptions{Window: window, Propensities: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// own is the player of this package that d plays.
func own(d *Delayed) *Player { return d.player.(*Player) }

func stateOf(t testing.TB, d *Delayed) []byte {
	t.Helper()
	data, err := d.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// choose makes a choice, which must succeed.
func choose(t testing.TB, d *Delayed, r Rand, allowed []bool) Choice {
	t.Helper()
	c, err := d.Choose(r, allowed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// learn brings a loss, which must succeed.
func learn(t testing.TB, d *Delayed, id uint64, loss float64) {
	t.Helper()
	if err := d.Learn(id, loss); err != nil {
		t.Fatal(err)
	}
}

// Used in lockstep a Delayed plays as its player does, bit for bit.
func TestDelayedInLockstep(t *testing.T) {
	means := []float64{.6, .2, .5, .4}
	wrapped := players(4)
	for i, p := range players(4) {
		d := delayed(t, wrapped[i], 3)
		d.options.Propensities = false
		a, b := random.New(uint64(i), "lockstep"), random.New(uint64(i), "lockstep")
		for round := range 300 {
			k, c := p.Draw(a), choose(t, d, b, nil)
			if c.Arm != k || c.ID != uint64(round+1) {
				t.Fatalf("%v: choice %+v, but Draw gives arm %d", p, c, k)
			}
			if !sampled(p) && p.Probabilities()[k] != c.Propensity {
				t.Fatalf("%v: propensity %v, want %v", p, c.Propensity, p.Probabilities()[k])
			}
			loss := 0.0
			if a.Float64() < means[k] {
				loss = 1
			}
			b.Float64()
			if err := p.Update(k, loss); err != nil {
				t.Fatal(err)
			}
			learn(t, d, c.ID, loss)
		}
		if !bytes.Equal(snapshotOf(t, p), snapshotOf(t, d.Player())) {
			t.Errorf("%v: the states differ", p)
		}
	}
}

// world is a run of choices, late losses, lost ones, masks and, where the player can, changing
// arms.
type world struct {
	d       *Delayed
	r       *random.Source
	allowed []bool
	open    []Choice
}

// step makes a random step.
func (w *world) step(t testing.TB) {
	t.Helper()
	switch w.r.IntN(8) {
	case 0:
		if len(w.open) > 0 {
			i := w.r.IntN(len(w.open))
			if err := w.d.Forget(w.open[i].ID); err != nil {
				t.Fatal(err)
			}
			w.open = slices.Delete(w.open, i, i+1)
		}
	case 1, 2, 3:
		if len(w.open) > 0 {
			i := w.r.IntN(len(w.open))
			learn(t, w.d, w.open[i].ID, float64(w.r.IntN(2)))
			w.open = slices.Delete(w.open, i, i+1)
		}
	case 4:
		w.allowed = make([]bool, w.d.Arms())
		for k := range w.allowed {
			w.allowed[k] = w.r.IntN(3) > 0
		}
		w.allowed[0] = true // arm 0 is never retired
		if w.r.IntN(3) == 0 {
			w.allowed = nil
		}
	case 5:
		if w.r.IntN(10) == 0 && w.d.Arms() < 8 {
			if _, err := w.d.AddArm(); err == nil {
				w.allowed = nil
			}
		}
		if k := w.r.IntN(10 * w.d.Arms()); k > 0 && k < w.d.Arms() {
			_ = w.d.RetireArm(k) // it may be retired already
		}
	default:
		w.open = append(w.open, choose(t, w.d, w.r, w.allowed))
	}
}

// The propensities are a distribution over the allowed arms, that of the choice is in it and
// positive, whatever has happened before, for all players.
func TestDelayedPropensities(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := players(rapid.IntRange(1, 5).Draw(rt, "arms"))
		seed := rapid.Uint64().Draw(rt, "seed")
		for _, p := range all {
			w := &world{d: delayed(t, p, 1000), r: random.New(seed, "propensities")}
			for range 25 {
				w.step(t)
			}
			p, bound, err := w.d.Distribution(w.allowed)
			if err != nil {
				rt.Fatal(err)
			}
			p = slices.Clone(p)
			sum := 0.0
			for k, x := range p {
				ok := !w.d.s.Retired[k] && (w.allowed == nil || w.allowed[k])
				if sum += x; !(x >= 0) || !ok && x != 0 {
					rt.Fatalf("%v: propensities %v of the arms %v", w.d, p, w.allowed)
				}
			}
			if math.Abs(sum-1) > 1e-12 || bound > 1e-8 {
				rt.Fatalf("%v: propensities %v with the sum %v; bound %v", w.d, p, sum, bound)
			}
			if c := choose(t, w.d, w.r, w.allowed); c.Propensity != p[c.Arm] || !(c.Propensity > 0) ||
				c.Error != bound {
				rt.Fatalf("%v: choice %+v from %v", w.d, c, p)
			}
		}
	})
}

// Arms are drawn with their propensities: no player's counts are improbable by Pearson's χ².
func TestDelayedFrequencies(t *testing.T) {
	n := testsize.Of(40000, 4000)
	for i := range players(4) {
		for seed := range uint64(3) {
			w := &world{d: delayed(t, players(4)[i], 1000), r: random.New(seed, "frequencies")}
			for range 60 {
				w.step(t)
			}
			p, _, err := w.d.Distribution(w.allowed)
			if err != nil {
				t.Fatal(err)
			}
			p = slices.Clone(p)
			counts, v := make([]float64, len(p)), &view{}
			if v, err = w.d.view(w.allowed); err != nil {
				t.Fatal(err)
			}
			for range n {
				var c drawn
				w.d.player.choose(&c, v, w.r)
				counts[c.Arm]++
			}
			for k := range p {
				p[k] *= float64(n)
			}
			chiSquare(t, w.d, counts, p)
		}
	}
}

// Choices made before or after, lost feedback and the order of losses do not matter to what a
// player has learned: counts are equal, sums up to rounding.
func TestDelayedOrderOfLosses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		all, twins := players(4), players(4)
		for i, p := range all {
			a, b := delayed(t, p, 100), delayed(t, twins[i], 100)
			r, s := random.New(seed, "order"), random.New(seed, "order")
			var open []Choice
			for range 40 {
				c := choose(t, a, r, nil)
				if choose(t, b, s, nil) != c {
					rt.Fatal("equal states draw differently")
				}
				open = append(open, c)
			}
			losses := make([]float64, len(open))
			for i := range losses {
				losses[i] = float64(r.IntN(2))
			}
			order := r.Perm(len(open))
			for i, c := range open {
				if i%5 != 0 { // every fifth loss is lost
					learn(t, a, c.ID, losses[i])
				}
			}
			for _, i := range order {
				if i%5 != 0 {
					learn(t, b, open[i].ID, losses[i])
				}
			}
			sameLearned(rt, own(a), own(b))
		}
	})
}

// sameLearned fails unless two players have learned the same.
func sameLearned(t rapid.TB, a, b *Player) {
	t.Helper()
	ok := slices.Equal(a.s.Pulls, b.s.Pulls) && len(a.s.Sums) == len(b.s.Sums)
	for k := range a.s.Pulls {
		ok = ok && math.Abs(a.s.Means[k]-b.s.Means[k]) < 1e-12
	}
	for k := range a.s.Sums {
		ok = ok && math.Abs(a.s.Sums[k]-b.s.Sums[k]) <= 1e-9*max(1, math.Abs(a.s.Sums[k]))
	}
	if !ok {
		t.Fatalf("%v: the order of losses matters", a)
	}
}

// The estimate divides by the propensity of the draw, however late the loss, and a base of the
// estimate of reduced variance is that of the draw.
func TestDelayedEstimates(t *testing.T) {
	d := delayed(t, made(NewPlayer(2, Exp3{Rate: 1, Limit: 1})), 10)
	first, second := choose(t, d, forced(.1), nil), choose(t, d, forced(.9), nil)
	learn(t, d, second.ID, 1)
	learn(t, d, first.ID, 1)
	nearAll(t, "estimates", own(d).Estimates(), []float64{2, 2})
	masked := choose(t, d, forced(.1), []bool{false, true})
	if masked.Arm != 1 || masked.Propensity != 1 {
		t.Errorf("%+v among arm 1 only", masked)
	}
	learn(t, d, masked.ID, .5) // the arm that was not allowed gets the loss of the round
	nearAll(t, "estimates", own(d).Estimates(), []float64{2.5, 2.5})
	v := delayed(t, made(NewPlayer(2, TsallisINF{Estimator: ReducedVariance, Limit: 1})), 100)
	own(v).s.Rounds = 60
	c := choose(t, v, forced(.1), nil) // both arms have a base now
	before := slices.Clone(own(v).Estimates())
	learn(t, v, c.ID, 1)
	after := own(v).Estimates()
	near(t, "drawn", after[c.Arm]-before[c.Arm], .5+.5/c.Propensity)
	near(t, "other", after[1-c.Arm]-before[1-c.Arm], .5)
}

// Feedback that never comes blocks nobody: with an arm whose losses are all lost, the others are
// played, and the player finds the best of them.
func TestDelayedLostFeedback(t *testing.T) {
	for i := range players(3) {
		d := delayed(t, players(3)[i], 50)
		d.options.Propensities = false
		r, counts := random.New(uint64(i), "lost"), make([]int, 3)
		for range 3000 {
			c := choose(t, d, r, nil)
			counts[c.Arm]++
			if c.Arm == 0 {
				continue
			}
			loss := 0.0
			if r.Float64() < []float64{0, .9, .1}[c.Arm] {
				loss = 1
			}
			learn(t, d, c.ID, loss)
		}
		// To players on estimates an arm without losses has the mean loss of the others.
		estimates := own(d).Estimates() != nil
		_, bernoulli := own(d).Rule().(BernoulliThompson)
		prior := false
		if g, ok := own(d).Rule().(GaussianThompson); ok {
			prior = g.Prior.Deviation == 1
		}
		if d.Pending() > 50 || !estimates && !bernoulli && !prior && (counts[2] < 2000 || counts[0] > 40) {
			t.Errorf("%v: %v choices, %d pending", d, counts, d.Pending())
		}
	}
}

// With losses that come 200 choices late every player still finds the best arm.
func TestDelayedBatches(t *testing.T) {
	for i := range players(3) {
		d := delayed(t, players(3)[i], 400)
		d.options.Propensities = false
		r, best := random.New(uint64(i), "batches"), 0
		for range 30 {
			var open []Choice
			for range 200 {
				open = append(open, choose(t, d, r, nil))
			}
			best = 0
			for _, c := range open {
				loss := 0.0
				if r.Float64() < []float64{.9, .1, .8}[c.Arm] {
					loss = 1
				}
				if c.Arm == 1 {
					best++
				}
				learn(t, d, c.ID, loss)
			}
		}
		if best < 100 {
			t.Errorf("%v: the best arm has %d of the last 200 choices", d, best)
		}
	}
}

// A restored snapshot continues bit for bit, with pending choices, retired arms and added ones.
func TestDelayedSnapshots(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		arms, seed := rapid.IntRange(1, 4).Draw(rt, "arms"), rapid.Uint64().Draw(rt, "seed")
		steps := rapid.IntRange(0, 150).Draw(rt, "steps")
		all, fresh := players(arms), players(arms)
		for i, p := range all {
			a := &world{d: delayed(t, p, 30), r: random.New(seed, "snapshot")}
			a.d.options.Propensities = false
			for range steps {
				a.step(t)
				a.drop()
			}
			data := stateOf(t, a.d)
			b := &world{
				d: delayed(t, fresh[i], 30), r: random.New(1, ""), allowed: a.allowed, open: slices.Clone(a.open),
			}
			b.d.options.Propensities = false
			if err := b.d.UnmarshalBinary(data); err != nil {
				rt.Fatalf("%v: %v", a.d, err)
			}
			if state, err := a.r.MarshalBinary(); err != nil || b.r.UnmarshalBinary(state) != nil {
				rt.Fatal(err)
			}
			if !bytes.Equal(stateOf(t, b.d), data) || b.d.Pending() != a.d.Pending() {
				rt.Fatalf("%v: the snapshot changed by a restore", a.d)
			}
			for range 60 {
				a.step(t)
				a.drop()
				b.step(t)
				b.drop()
			}
			if !bytes.Equal(stateOf(t, a.d), stateOf(t, b.d)) {
				rt.Fatalf("%v: a restored one goes on differently", a.d)
			}
		}
	})
}

// drop drops the choices that have expired.
func (w *world) drop() {
	w.open = slices.DeleteFunc(w.open, func(c Choice) bool { return w.d.s.Next-c.ID > uint64(w.d.options.Window) })
}

// Bad calls are refused with a reason, and change nothing.
func TestDelayedRefuses(t *testing.T) {
	for i := range players(3) {
		d := delayed(t, players(3)[i], 4)
		d.options.Propensities = false
		r := random.New(1, "refuses")
		for range 6 {
			choose(t, d, r, nil)
		}
		learn(t, d, 5, 1)
		if err := d.Forget(6); err != nil {
			t.Fatal(err)
		}
		before := stateOf(t, d)
		refuse := func(what string, err error) {
			t.Helper()
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%v: %s: %v", d, what, err)
			}
		}
		for _, id := range []uint64{0, 1, 2, 5, 6, 7, math.MaxUint64} {
			refuse(fmt.Sprint("learn ", id), d.Learn(id, 1))
			refuse(fmt.Sprint("forget ", id), d.Forget(id))
		}
		refuse("loss", d.Learn(3, math.NaN()))
		_, err := d.Choose(r, []bool{true})
		refuse("one arm", err)
		_, err = d.Choose(r, make([]bool, 3))
		refuse("no arm", err)
		_, _, err = d.Distribution(make([]bool, 3))
		refuse("no arm", err)
		refuse("retire", d.RetireArm(3))
		refuse("damaged", d.UnmarshalBinary(before[:len(before)-1]))
		refuse("another window", delayed(t, players(3)[i], 5).UnmarshalBinary(before))
		refuse("another player", delayed(t, players(3)[(i+1)%len(players(3))], 4).UnmarshalBinary(before))
		if !bytes.Equal(before, stateOf(t, d)) {
			t.Errorf("%v: a refused call changed the state", d)
		}
		for k := range 2 {
			if err := d.RetireArm(k); err != nil {
				t.Error(err)
			}
			refuse("retired", d.RetireArm(k))
		}
		refuse("the last", d.RetireArm(2))
		if c := choose(t, d, r, nil); c.Arm != 2 || d.Learn(c.ID, 0) != nil {
			t.Errorf("%v: %+v of arm 2 only", d, c)
		}
	}
	p := made(NewPlayer(2, Exp3{Rate: 1, Limit: 1}))
	p.Draw(forced(.1))
	if _, err := NewDelayed(p, DefaultDelayedOptions()); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("within a round: %v", err)
	}
	p = made(NewPlayer(2, Exp3{Rate: 1, Limit: 1}))
	if _, err := NewDelayed(p, DelayedOptions{}); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("no window: %v", err)
	}
	if _, err := NewDelayed(nil, DefaultDelayedOptions()); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("no player: %v", err)
	}
}

// An added arm is found if it is the best, by the players that can add arms; a snapshot with it
// restores into a player made for fewer arms. The others say why they cannot.
func TestDelayedAddsArms(t *testing.T) {
	for i := range players(2) {
		d := delayed(t, players(2)[i], 10)
		d.options.Propensities = false
		r, counts := random.New(1, "adds"), make([]int, 3)
		play := func(rounds int) {
			for range rounds {
				c, loss := choose(t, d, r, nil), 0.0
				if r.Float64() < []float64{.9, .8, .1}[c.Arm] {
					loss = 1
				}
				counts[c.Arm]++
				learn(t, d, c.ID, loss)
			}
		}
		play(100)
		k, err := d.AddArm()
		if own(d).plan.fixed != "" {
			if noregret.CodeOf(err) != noregret.BadInput || d.Arms() != 2 {
				t.Errorf("%v: added arm %d, %v", d, k, err)
			}
			continue
		}
		if err != nil || k != 2 {
			t.Fatalf("%v: arm %d, %v", d, k, err)
		}
		play(1000)
		if counts[2] < 700 {
			t.Errorf("%v: %v choices", d, counts)
		}
		e := delayed(t, players(2)[i], 10)
		if err := e.UnmarshalBinary(stateOf(t, d)); err != nil || e.Arms() != 3 || e.Player().Arms() != 3 {
			t.Errorf("%v: restored %d arms: %v", d, e.Arms(), err)
		}
	}
}

func TestDelayedDoesNotAllocate(t *testing.T) {
	for i := range players(10) {
		d := delayed(t, players(10)[i], 16)
		r, mask, round := random.New(1, "allocations"), make([]bool, 10), 0
		play := func() {
			allowed := mask
			if round++; round%3 > 0 {
				allowed = nil
			}
			mask[round%10] = !mask[round%10]
			mask[3] = true
			c := choose(t, d, r, allowed)
			if c.ID%7 > 0 {
				learn(t, d, c.ID, float64(c.ID&1))
			}
		}
		for range 40 {
			play()
		}
		if n := testing.AllocsPerRun(40, play); n != 0 {
			t.Errorf("%v: %v allocations a choice", d, n)
		}
	}
}
