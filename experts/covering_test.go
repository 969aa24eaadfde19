package experts_test

import (
	"errors"
	"math"
	"math/bits"
	"testing"

	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/random"
)

// In round t one interval of each length up to t runs: that of length 2^j which contains t. An
// interval that begins takes the place of the one of its length that ends.
func TestCovering(t *testing.T) {
	type member struct{ begun, length int }
	var c experts.Covering[member]
	for round := 1; round <= 1000; round++ {
		begun := 0
		err := c.Begin(round, func(j int, old *member) (member, error) {
			begun++
			if old != nil && old.begun+old.length != round {
				t.Errorf("round %d: the interval from %d of length %d ends", round, old.begun, old.length)
			}
			return member{round, 1 << j}, nil
		})
		if err != nil || begun != experts.Begun(round) || len(c) != bits.Len(uint(round)) ||
			len(c) != experts.Running(round) {
			t.Fatalf("round %d: %v, %d intervals begin and %d run", round, err, begun, len(c))
		}
		for j, m := range c {
			if m.length != 1<<j || m.begun%m.length != 0 || m.begun > round || round >= m.begun+m.length ||
				m.begun != experts.BegunAt(round, j) {
				t.Errorf("round %d: the interval from %d of length %d", round, m.begun, m.length)
			}
		}
	}
	before := len(c)
	failed := errors.New("no member")
	if err := c.Begin(1024, func(j int, _ *member) (member, error) {
		if j == 10 {
			return member{}, failed
		}
		return member{1024, 1 << j}, nil
	}); !errors.Is(err, failed) || len(c) != before || c[9].begun != 1024 {
		t.Errorf("%v, %d members", err, len(c))
	}
}

// The wealth of a coin is that of the definition of Krichevsky and Trofimov, and no bet is below 0.
func TestCoin(t *testing.T) {
	c := experts.NewCoin()
	wealth, sum := 1.0, 0.0
	r := random.New(1, "bettor")
	for n := range 200 {
		v := sum / float64(n+1) * wealth
		if math.Abs(c.Bet()-max(v, 0)) > 1e-12*max(1, wealth) {
			t.Fatalf("round %d: bet %v, want %v", n, c.Bet(), v)
		}
		gain := .5*r.Float64() - .15
		c.Toss(gain)
		if v <= 0 {
			gain = max(gain, 0)
		}
		wealth += gain * v
		sum += gain
	}
	if wealth < 2 || c.Count != 200 || c.Check() != nil {
		t.Errorf("wealth %v after %d rounds: the test is too weak", wealth, c.Count)
	}
	for _, bad := range []experts.Coin{{Count: -1}, {Sum: math.NaN()}, {Wealth: math.Inf(1)}} {
		if bad.Check() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
