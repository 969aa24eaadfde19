package regret_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/regret"
)

// inTurn pulls the arms in turn and notes the losses that it meets.
type inTurn struct {
	arms, t int
	met     map[float64]int
}

func (p *inTurn) Arms() int               { return p.arms }
func (p *inTurn) Draw(regret.Uniform) int { return p.t % p.arms }

func (p *inTurn) Update(_ int, loss float64) error {
	p.t++
	p.met[loss]++
	return nil
}

// Each row is used at most once; the regret is by the weighted means; a run ends with the log.
func TestReplicateLog(t *testing.T) {
	log := []regret.LoggedPull{
		{Arm: 0, Propensity: .5, Loss: 1},
		{Arm: 1, Propensity: .5, Loss: 2},
		{Arm: 0, Propensity: .5, Loss: 3},
		{Arm: 1, Propensity: .5, Loss: 5},
	}
	var players []*inTurn
	c, err := regret.ReplicateLog(context.Background(), regret.LogReplication{
		Player: func(int) (regret.BanditPlayer, error) {
			p := &inTurn{arms: 2, met: map[float64]int{}}
			players = append(players, p)
			return p, nil
		},
		Arms: 2, Log: log, Rounds: 100, Runs: 200, Workers: 1, Checkpoints: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := map[int]int{}
	for _, p := range players {
		ended[p.t]++
		for loss, n := range p.met {
			if n > 1 {
				t.Fatalf("the row with the loss %v was used %d times", loss, n)
			}
		}
	}
	// From an order of the rows a run gets 1 to 4 rounds. All of them occur, and the first row is
	// not of arm 0 in half of the orders.
	if c.Rounds != 4 || len(ended) != 4 || ended[0] > 0 || len(c.Curve) != 1 {
		t.Errorf("%v rounds at most, lengths %v, curve %v", c.Rounds, ended, c.Curve)
	}
	// The means are 2 and 3.5.
	if want := 1.5 * c.Pulls[1].Mean; math.Abs(c.Pseudo.Mean-want) > 1e-12 {
		t.Errorf("pseudo-regret %v, want %v", c.Pseudo.Mean, want)
	}
	if want := c.Loss.Mean - 2*c.Length.Mean; math.Abs(c.Realized.Mean-want) > 1e-12 {
		t.Errorf("realized regret %v, want %v", c.Realized.Mean, want)
	}
}

// Rows of unequal propensities are accepted so that each is as likely: of two losses of one arm, of
// which the log has one three times as often because its propensity was three times as large, the
// player meets both equally often.
func TestReplicateLogCorrectsPropensities(t *testing.T) {
	var log []regret.LoggedPull
	for range 300 {
		log = append(log, regret.LoggedPull{Arm: 0, Propensity: .9, Loss: 1},
			regret.LoggedPull{Arm: 0, Propensity: .9, Loss: 1},
			regret.LoggedPull{Arm: 0, Propensity: .9, Loss: 1}, regret.LoggedPull{Arm: 0, Propensity: .3, Loss: 0})
	}
	c, err := regret.ReplicateLog(context.Background(), regret.LogReplication{
		Player: func(int) (regret.BanditPlayer, error) { return &inTurn{arms: 1, met: map[float64]int{}}, nil },
		Arms:   1, Log: log, Rounds: 200, Runs: 50,
	})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.Loss.Mean/200-.5) > .02 || math.Abs(c.Realized.Mean) > 4 {
		t.Errorf("loss %v, realized regret %v", c.Loss, c.Realized)
	}
}

func TestReplicateLogRefuses(t *testing.T) {
	good := regret.LogReplication{
		Player: func(int) (regret.BanditPlayer, error) { return &fixed{arms: 2}, nil }, Arms: 2, Rounds: 5, Runs: 2,
		Log: []regret.LoggedPull{{0, .5, 1}, {1, .5, 0}},
	}
	for _, c := range []struct {
		change func(o *regret.LogReplication)
		want   string
	}{
		{func(o *regret.LogReplication) { o.Player = nil }, "the player is nil"},
		{func(o *regret.LogReplication) { o.Rounds = 0 }, "0 in 2 runs"},
		{func(o *regret.LogReplication) { o.Workers = -1 }, "at least 0 of both"},
		{func(o *regret.LogReplication) { o.Arms = 0 }, "arms: 0: want 1 to"},
		{func(o *regret.LogReplication) { o.Arms = 3 }, "the arm 2 does not occur"},
		{func(o *regret.LogReplication) {
			o.Log = []regret.LoggedPull{{2, .5, 0}}
		}, "row 1: the arm 2 is not one of 0 to 1"},
		{func(o *regret.LogReplication) {
			o.Log = []regret.LoggedPull{{0, 0, 0}}
		}, "the propensity 0 must be in (0, 1]"},
		{func(o *regret.LogReplication) { o.Log = []regret.LoggedPull{{0, 1, math.NaN()}} }, "the loss NaN"},
		{func(o *regret.LogReplication) {
			o.Player = func(int) (regret.BanditPlayer, error) { return &fixed{arms: 3}, nil }
		}, "3 arms, but the log has 2"},
		{func(o *regret.LogReplication) {
			o.Player = func(int) (regret.BanditPlayer, error) { return &fixed{arms: 2, arm: 2}, nil }
		}, "drew arm 2 of 2"},
		{func(o *regret.LogReplication) {
			o.Player = func(int) (regret.BanditPlayer, error) { return &fixed{arms: 2, fail: 1}, nil }
		}, "run 0: round 1: loss: refused"},
	} {
		o := good
		c.change(&o)
		if _, err := regret.ReplicateLog(context.Background(), o); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v (%s), want %q", err, noregret.CodeOf(err), c.want)
		}
	}
}
