package oco

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
)

// LinearDescentState is the state of a [LinearDescent], for snapshots.
type LinearDescentState struct {
	V, U, Inv, Mean, Acc, Squares                                     []float64
	Scale, SumScale, Norm2, Omega, Bias, BiasSum                      float64
	Centred                                                           bool
	Mean2, Kappa, Nu, AccKappa, DotV, DotU, DotAcc, BiasFeature, Ball float64
	BiasSquares                                                       float64

	Stakes    []Stake
	BiasStake Stake
	Risen     float64
}

// State is a copy of the state, but for Acc, Squares and Stakes, which it shares: save it before
// the next step. O(d).
func (l *LinearDescent) State() LinearDescentState {
	s := LinearDescentState{
		Acc: l.acc, Scale: l.scale, SumScale: l.sumScale, Norm2: l.norm2, Omega: l.omega, Bias: l.bias,
		BiasSum: l.biasSum,
		Centred: l.centred, Mean2: l.mean2, Kappa: l.kappa, Nu: l.nu, AccKappa: l.accKappa, DotV: l.dotV, DotU: l.dotU,
		DotAcc:      l.dotAcc,
		BiasFeature: l.biasFeature, Ball: l.radius, Squares: l.squares, BiasSquares: l.biasSquares,
		Stakes: l.stakes, BiasStake: l.biasStake, Risen: l.risen,
	}
	for i := range l.c {
		c := &l.c[i]
		s.V, s.U = append(s.V, c.v), append(s.U, c.u)
		s.Inv, s.Mean = append(s.Inv, c.inv), append(s.Mean, c.mean)
	}
	return s
}

// Check returns an error for vectors of unequal lengths and for numbers out of range.
func (s *LinearDescentState) Check() error {
	n := len(s.V)
	if len(s.U) != n || len(s.Inv) != n || len(s.Mean) != n || (s.Acc != nil && len(s.Acc) != n) ||
		(s.Squares != nil && len(s.Squares) != n) {
		return fmt.Errorf("its vectors have lengths %d, %d, %d, %d, %d and %d", n, len(s.U), len(s.Inv), len(s.Mean),
			len(s.Acc), len(s.Squares))
	}
	for _, v := range [][]float64{s.V, s.U, s.Inv, s.Mean, s.Acc, s.Squares, {
		s.Scale, s.SumScale, s.Norm2, s.Omega, s.Bias, s.BiasSum, s.Mean2, s.Kappa, s.Nu, s.AccKappa, s.DotV, s.DotU,
		s.DotAcc, s.BiasFeature, s.BiasSquares,
	}} {
		if !vec.Finite(v) {
			return fmt.Errorf("its weights are not finite")
		}
	}
	for i, q := range s.Squares {
		if q < 0 {
			return fmt.Errorf("the sum of squares of feature %d is %v", i, q)
		}
	}
	if s.BiasSquares < 0 {
		return fmt.Errorf("the sum of squares of the constant feature is %v", s.BiasSquares)
	}
	if !(s.Scale > 0) || !(s.Ball > 0) {
		return fmt.Errorf("its scale is %v, its radius %v", s.Scale, s.Ball)
	}
	for i, inv := range s.Inv {
		if !(inv > 0) {
			return fmt.Errorf("the inverse scale of feature %d is %v", i, inv)
		}
	}
	return s.checkStakes()
}

// RestoreLinearDescent restores a state that Check accepts. Continuing is bit-identical.
func RestoreLinearDescent(s LinearDescentState) (*LinearDescent, error) {
	if err := s.Check(); err != nil {
		return nil, noregret.BadInputf("state", "damaged: %w", err)
	}
	l := &LinearDescent{
		acc: s.Acc, scale: s.Scale, sumScale: s.SumScale, norm2: s.Norm2, omega: s.Omega, bias: s.Bias,
		biasSum: s.BiasSum,
		centred: s.Centred, mean2: s.Mean2, kappa: s.Kappa, nu: s.Nu, accKappa: s.AccKappa, dotV: s.DotV, dotU: s.DotU,
		dotAcc:      s.DotAcc,
		biasFeature: s.BiasFeature, radius: s.Ball, c: make([]coordinate, len(s.V)), squares: s.Squares,
		biasSquares: s.BiasSquares, stakes: s.Stakes, biasStake: s.BiasStake, risen: s.Risen,
	}
	for i := range l.c {
		l.c[i] = coordinate{v: s.V[i], u: s.U[i], inv: s.Inv[i], mean: s.Mean[i]}
	}
	l.findCentres()
	return l, nil
}
