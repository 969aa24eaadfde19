package regret

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
)

// Bettor bets on the outcomes of a coin: a fraction of its wealth, signed, before each of them.
type Bettor interface {
	// Bet is β_t ∈ [−1, 1], on heads if positive.
	Bet() float64
	// Observe ends the round with the outcome c_t = ±1, which multiplies the wealth by 1 + β_t·c_t.
	Observe(c float64) error
}

// CoinAdversary chooses the outcomes of a coin against a bettor whose bets it sees (Orabona 2019,
// Theorem 5.10). After k heads in T rounds the best constant fraction has turned a unit into
// 2^T·M(k), M(k) = (k/T)^k·(1−k/T)^(T−k). With
//
//	N_T(k) = M(k),   N_t(k) = N_{t+1}(k) + N_{t+1}(k+1),   c_t = +1 iff (1+β_t)/2 ≤ N_t(k+1)/N_{t−1}(k),
//
// the bettor's final wealth is at most 1/C_T of that of the best constant fraction, C_T =
// N_0(0) = Σ C(T,k)·M(k) ≥ √T. Sums are computed from logarithms: a round costs O(T), the memory is
// O(T), and horizons from 1 to [MaxCoinRounds] are allowed.
type CoinAdversary struct {
	rounds  int
	logM    []float64 // ln M(k), the same bits at k and T−k
	logFact []float64
	t, sum  int // rounds done, Σc
	random  *random.Source
	seed    uint64
}

// MaxCoinRounds is the longest horizon of a [CoinAdversary].
const MaxCoinRounds = 1 << 17

// NewCoinAdversary plays for the given number of rounds.
func NewCoinAdversary(rounds int) (*CoinAdversary, error) {
	if rounds < 1 || rounds > MaxCoinRounds {
		return nil, noregret.BadInputf("rounds", "%d: want a horizon from 1 to %d, which this game must know", rounds,
			MaxCoinRounds)
	}
	a := &CoinAdversary{rounds: rounds, logM: make([]float64, rounds+1), logFact: make([]float64, rounds+1)}
	var f total
	for i := 1; i <= rounds; i++ {
		f.add(portable.Log(float64(i)))
		a.logFact[i] = f.value()
	}
	n := float64(rounds)
	for k := 1; k <= rounds/2; k++ { // M(0) = M(T) = 1
		p := float64(k)
		a.logM[k] = float64(p*portable.Log(p/n)) + float64((n-p)*portable.Log1p(-p/n))
		a.logM[rounds-k] = a.logM[k]
	}
	return a, nil
}

// NewRandomCoin draws outcomes from the measure M/C_T instead, without looking at the bets. The
// bettor's wealth over that of the best constant fraction is then 1/C_T in expectation over the
// seeds, for every bettor.
func NewRandomCoin(rounds int, seed uint64) (*CoinAdversary, error) {
	a, err := NewCoinAdversary(rounds)
	if err != nil {
		return nil, err
	}
	a.seed = seed
	a.random = random.New(seed, "regret/coin")
	return a, nil
}

// Restart begins the game again.
func (a *CoinAdversary) Restart() {
	a.t, a.sum = 0, 0
	if a.random != nil {
		a.random = random.New(a.seed, "regret/coin")
	}
}

// logN is ln N_t(k) = ln Σ_j C(T−t, j)·M(k+j). Terms are added in pairs from both ends, so that
// N_t(k) and its mirror image N_t(t−k) have the same bits, and ties are ties.
func (a *CoinAdversary) logN(t, k int) float64 {
	n := a.rounds - t
	term := func(j int) float64 { return a.logFact[n] - (a.logFact[j] + a.logFact[n-j]) + a.logM[k+j] }
	top := math.Inf(-1)
	for j := range n + 1 {
		top = max(top, term(j))
	}
	var s float64
	for i, j := 0, n; i <= j; i, j = i+1, j-1 {
		p := portable.Exp(term(i) - top)
		if i < j {
			p += portable.Exp(term(j) - top)
		}
		s += p
	}
	return top + portable.Log(s)
}

// LogConstant is ln C_T.
func (a *CoinAdversary) LogConstant() float64 { return a.logN(0, 0) }

// Sum is Σc so far.
func (a *CoinAdversary) Sum() int { return a.sum }

// Rounds is the horizon T.
func (a *CoinAdversary) Rounds() int { return a.rounds }

// LogBest is ln max_β Π (1 + β·c_t) over the T rounds: the log wealth of the best constant
// fraction, starting from 1. Before the last round it covers the rounds so far.
func (a *CoinAdversary) LogBest() float64 {
	heads, n := float64(float64(a.t+a.sum)/2), float64(a.t)
	best := float64(n * math.Ln2)
	for _, k := range []float64{heads, n - float64(heads)} {
		if k > 0 {
			best += float64(k * portable.Log(k/n))
		}
	}
	return max(best, 0)
}

// Next is the outcome c_t = ±1 for the bet β_t ∈ [−1, 1].
func (a *CoinAdversary) Next(beta float64) (float64, error) {
	if !(beta >= -1 && beta <= 1) {
		return 0, noregret.BadInputf("bet", "%v: want a fraction from -1 to 1", beta)
	}
	if a.t == a.rounds {
		return 0, noregret.Errorf(noregret.Usage, "rounds", "%d: the game was made for %d", a.t+1, a.rounds)
	}
	// N_t(k+1)/N_{t−1}(k) = 1/(1 + N_t(k)/N_t(k+1)).
	k := (a.t + a.sum) / 2
	share := 1 / (1 + portable.Exp(a.logN(a.t+1, k)-a.logN(a.t+1, k+1)))
	heads := (1+beta)/2 <= share
	if a.random != nil {
		heads = a.random.Float64() < share
	}
	a.t++
	if heads {
		a.sum++
		return 1, nil
	}
	a.sum--
	return -1, nil
}

// CoinResult is the outcome of a coin game. Wealth starts at 1 and is given by its logarithm.
type CoinResult struct {
	// Outcomes are c_1, ..., c_T.
	Outcomes []float64
	// LogWealth is the bettor's final log wealth, −Inf if it bet everything and lost; LogBest is
	// that of the best constant fraction in hindsight.
	LogWealth, LogBest float64
	// LogConstant is ln C_T: LogWealth is at most LogBest − LogConstant (in expectation for a
	// random coin, see [NewRandomCoin]).
	LogConstant float64
}

// PlayCoin plays a bettor against the adversary from the start, for its number of rounds.
func PlayCoin(b Bettor, a *CoinAdversary) (*CoinResult, error) {
	if b == nil || a == nil {
		return nil, noregret.Errorf(noregret.Usage, "play", "the bettor or the adversary is nil")
	}
	a.Restart()
	r := &CoinResult{LogConstant: a.LogConstant()}
	var wealth total
	for range a.rounds {
		beta := b.Bet()
		c, err := a.Next(beta)
		if err != nil {
			return nil, err
		}
		if factor := 1 + float64(beta*c); factor > 0 {
			wealth.add(portable.Log1p(float64(beta * c)))
		} else {
			r.LogWealth = math.Inf(-1)
		}
		r.Outcomes = append(r.Outcomes, c)
		if err := b.Observe(c); err != nil {
			return nil, err
		}
	}
	if r.LogWealth == 0 {
		r.LogWealth = wealth.value()
	}
	r.LogBest = a.LogBest()
	return r, nil
}
