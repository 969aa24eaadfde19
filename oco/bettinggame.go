package oco

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// BettingGame is the referee of the coin-betting game. It pays a bettor's bets and counts its money
// by addition, ε + Σ c_t·x_t, beside the bettor's own product.
type BettingGame struct {
	bettor  Bettor
	initial float64
	won     sum // Σ c_t·x_t
	coins   sum // Σ c_t
	rounds  int
}

// NewBettingGame begins a game with a bettor before its first round.
func NewBettingGame(b Bettor) (*BettingGame, error) {
	if b == nil {
		return nil, noregret.BadInputf("bettor", "nil: want a bettor")
	}
	w := portable.Exp(b.LogWealth())
	if !(w > 0) || !vec.IsFinite(w) {
		return nil, noregret.BadInputf("bettor", "its wealth is %v: want a finite number above 0", w)
	}
	return &BettingGame{bettor: b, initial: w}, nil
}

// Toss plays a round with the coin c ∈ [−1, 1] and returns the bet, which was made before the coin
// was shown. An error changes nothing.
func (g *BettingGame) Toss(c float64) (bet float64, err error) {
	c, err = checkCoin(c)
	if err != nil {
		return 0, err
	}
	if bet, err = Bet(g.bettor); err != nil {
		return 0, err
	}
	if err := g.bettor.Observe(c); err != nil {
		return 0, err
	}
	g.won.addProduct(c, bet)
	g.coins.add(c)
	g.rounds++
	return bet, nil
}

// Wealth is ε + Σ c_t·x_t.
func (g *BettingGame) Wealth() float64 {
	s := g.won
	s.add(g.initial)
	return s.value()
}

// Coins is Σ c_t.
func (g *BettingGame) Coins() float64 { return g.coins.value() }

// Rounds is the number of rounds played.
func (g *BettingGame) Rounds() int { return g.rounds }

// LinearRegret is the regret of the learner that plays the bets, with g_t = −c_t: Σ g_t·(x_t − u) =
// ε − Wealth + u·Σ c_t. It is an identity, for every bettor (Orabona 2019, Theorem 9.6).
func (g *BettingGame) LinearRegret(u float64) float64 {
	var s sum
	s.addProduct(g.coins.value(), u)
	return s.value() - g.won.value()
}

// BestFraction returns the β ∈ [−1, 1] with the largest log-wealth Σ ln(1 + β·c_t) on the given
// coins, and that log-wealth. For coins ±1 it is their mean. It costs O(T) per step of a bisection.
func BestFraction(coins []float64) (beta, logWealth float64, err error) {
	for t, c := range coins {
		if !(math.Abs(c) <= 1) {
			return 0, 0, noregret.BadInputf(fmt.Sprintf("coins[%d]", t), "%v: want a number from -1 to 1", c)
		}
	}
	// The derivative Σ c/(1 + βc) falls in β; it is −Inf at 1 if a coin is −1.
	slope := func(beta float64) float64 {
		var s sum
		for _, c := range coins {
			s.add(c / (1 + float64(beta*c)))
		}
		return s.value()
	}
	low, high := -1.0, 1.0
	switch {
	case slope(0) == 0:
		low, high = 0, 0
	case slope(1) >= 0:
		low = high
	case slope(-1) <= 0:
		high = low
	}
	for range 200 {
		middle := low + float64((high-low)/2)
		if middle == low || middle == high {
			break
		}
		if slope(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	beta = low + float64((high-low)/2)
	var log sum
	for _, c := range coins {
		log.add(portable.Log1p(float64(beta * c)))
	}
	return beta, log.value(), nil
}
