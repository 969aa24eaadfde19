package privacy

import (
	"context"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/private"
)

// The columns of a bandit study.
const (
	// Greedy is DP-HDB without noise.
	Greedy = "non-private"
	// Uniform draws an arm at random.
	Uniform = "uniform"
	// LaplaceWide, ExponentialWide and ExponentialTight are DP-HDB on DP-POFW with the clip βD + L
	// = 4 and with the clip 1 in the norm l∞.
	LaplaceWide      = "laplace-4"
	ExponentialWide  = "exponential-4"
	ExponentialTight = "exponential-1"
	// SquareRootWide, SquareRootMedium and SquareRootNarrow are DP-HDB on DP-TOFW with the
	// square-root mechanism: with the clip βD + L = 4 in the norm l∞, whose Euclidean norm is 4√d,
	// and with the Euclidean clips 8.2 and 3. HonakerNarrow is the latter with Honaker's tree.
	SquareRootWide   = "square-root-inf-4"
	SquareRootMedium = "square-root-8.2"
	SquareRootNarrow = "square-root-3"
	HonakerNarrow    = "honaker-3"
	// LinearUCB is private linear UCB with tree noise.
	LinearUCB = "dp-ucb"
)

// BanditColumns lists all columns of a bandit study.
func BanditColumns() []string {
	return []string{
		Greedy, Uniform, LaplaceWide, ExponentialWide, ExponentialTight, SquareRootWide, SquareRootMedium,
		SquareRootNarrow, HonakerNarrow, LinearUCB,
	}
}

// BanditOptions configure [Bandit].
type BanditOptions struct {
	// Dim is d, Arms is K, Rounds is T, WarmUp is t₀.
	Dim, Arms, Rounds, WarmUp int
	// Runs is the number of repetitions.
	Runs int
	// Epsilon and Delta are the budget; Delta 0 means 1/T.
	Epsilon, Delta float64
	// Columns are the names of the columns.
	Columns []string
	// Points is the number of points of each regret curve.
	Points int
	// Seed is that of data and noise. With Secure the noise is from the system's generator.
	Seed   uint64
	Secure bool
}

// DefaultBanditOptions are those of the study in lab/docs/privacy-learners.md: d = 50, two arms,
// 10⁴ rounds, 200 rounds of warm-up for each arm, 10 runs, δ = 1/T and all columns.
func DefaultBanditOptions(epsilon float64) BanditOptions {
	return BanditOptions{
		Dim: 50, Arms: 2, Rounds: 10000, WarmUp: 200, Runs: 10, Epsilon: epsilon, Columns: BanditColumns(), Points: 50,
		Seed: 1,
	}
}

// BanditColumn is the result of one column: the regret after all rounds, and its curve.
type BanditColumn struct {
	Name string
	// Mean and SD are the mean and the standard deviation over runs of the cumulative regret.
	Mean, SD float64
	// Rounds and Regret are the points of the mean curve, and Deviations the standard deviations
	// over runs at these points.
	Rounds             []int
	Regret, Deviations []float64
}

// BanditReference returns the mean and the standard deviation of a column's regret that a second
// implementation of the study in another language measured over 10 runs, at ε = 1 and 8 with the
// other options of [DefaultBanditOptions]. The paper gives no numbers: its figure is without the
// reward model, δ, the warm-up and the gap.
func BanditReference(epsilon float64, column string) (mean, sd float64, ok bool) {
	type key struct {
		epsilon float64
		column  string
	}
	v, ok := map[key][2]float64{
		{1, Greedy}: {125, 21}, {8, Greedy}: {125, 21},
		{1, Uniform}: {1120, 62}, {8, Uniform}: {1120, 62},
		{1, LaplaceWide}: {1147, 163}, {1, ExponentialWide}: {1121, 166}, {1, ExponentialTight}: {981, 159},
		{1, SquareRootWide}: {1010, 148}, {1, SquareRootMedium}: {837, 134}, {1, SquareRootNarrow}: {654, 97},
		{8, ExponentialWide}: {871, 147}, {8, ExponentialTight}: {484, 74}, {8, SquareRootNarrow}: {260, 32},
	}[key{epsilon, column}]
	return v[0], v[1], ok
}

// The environment of the bandit study.
const (
	nonzeros  = 5
	trueNorm  = 0.75
	gap       = 0.5
	wideClip  = 4
	tightClip = 1
)

// Bandit measures the cumulative regret Σ max_a ⟨x_t, θ*_a⟩ − ⟨x_t, θ*_{a_t}⟩ of private bandits
// with contexts x ~ U[−1, 1]^d, parameters with 5 entries of equal size and random signs and
// ‖θ*_a‖₁ = 0.75, and rewards ⟨x, θ*_a⟩ + N(0, 0.05²) clamped to [−1, 1].
func Bandit(ctx context.Context, o BanditOptions) ([]BanditColumn, error) {
	if o.Dim < nonzeros || o.Dim > 1<<12 || o.Arms < 1 || o.Rounds < 1 || o.Rounds > 1<<24 || o.Runs < 1 ||
		o.Points < 1 {
		return nil, noregret.BadInputf("bandit",
			"d = %d, %d arms, %d rounds, %d runs, %d points: want d from %d to 2^12, "+
				"at most 2^24 rounds and none of the others zero", o.Dim, o.Arms, o.Rounds, o.Runs, o.Points, nonzeros)
	}
	if o.Delta == 0 {
		o.Delta = 1 / float64(o.Rounds)
	}
	var columns []BanditColumn
	for _, name := range o.Columns {
		c := BanditColumn{Name: name}
		var values []float64
		var curves [][]float64
		for run := range o.Runs {
			if err := ctx.Err(); err != nil {
				return nil, noregret.Errorf(noregret.Internal, "bandit", "%w", err)
			}
			rounds, curve, regret, err := o.play(name, run)
			if err != nil {
				return nil, err
			}
			values, curves, c.Rounds = append(values, regret), append(curves, curve), rounds
		}
		c.Mean, c.SD = meanSD(values)
		at := make([]float64, o.Runs)
		for i := range c.Rounds {
			for run, curve := range curves {
				at[run] = curve[i]
			}
			mean, sd := meanSD(at)
			c.Regret, c.Deviations = append(c.Regret, mean), append(c.Deviations, sd)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// player chooses arms and learns rewards.
type player interface {
	Choose(x []float64) (int, error)
	Reward(r float64) error
}

// play returns the regret of one run and its curve.
func (o BanditOptions) play(name string, run int) (rounds []int, curve []float64, regret float64, err error) {
	r := random.New(o.Seed+uint64(run), "private/study/bandit")
	truth := make([][]float64, o.Arms)
	for a := range truth {
		truth[a] = make([]float64, o.Dim)
		for _, j := range r.Perm(o.Dim)[:nonzeros] {
			truth[a][j] = trueNorm / nonzeros * float64(1-2*r.IntN(2))
		}
	}
	p, err := o.player(name, uint64(run))
	if err != nil {
		return nil, nil, 0, err
	}
	x, means := make([]float64, o.Dim), make([]float64, o.Arms)
	point := 0
	for t := range o.Rounds {
		best := math.Inf(-1)
		for j := range x {
			x[j] = float64(2*float64(r.Float64())) - 1
		}
		for a, theta := range truth {
			means[a] = vec.Dot(x, theta)
			best = max(best, means[a])
		}
		arm, err := p.Choose(x)
		if err != nil {
			return nil, nil, 0, err
		}
		if err := p.Reward(means[arm] + float64(deviation*stat.Normal(r))); err != nil {
			return nil, nil, 0, err
		}
		regret += best - means[arm]
		if (t+1)*o.Points/o.Rounds > point {
			rounds, curve = append(rounds, t+1), append(curve, regret)
			point++
		}
	}
	return rounds, curve, regret, nil
}

// player makes the player of a column.
func (o BanditOptions) player(name string, run uint64) (player, error) {
	domain, err := private.NewBall(o.Dim, 1, 1)
	if err != nil {
		return nil, err
	}
	budget, err := dp.ZCDPBudget(o.Epsilon, o.Delta)
	if err != nil {
		return nil, err
	}
	seeds := func(arm int) []dp.Option {
		if o.Secure {
			return nil
		}
		return []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(o.Seed<<20 + run<<8 + uint64(arm))}
	}
	noise := private.Noise{Protection: dp.PerRecord(), Budget: budget}
	h := private.HDBOptions{
		Problem: private.NewProblem(domain, private.HalfSquared(), 1, 1, 1), Arms: o.Arms, Horizon: int64(o.Rounds),
		WarmUp: int64(o.WarmUp), Gap: gap, RewardLow: -1, RewardHigh: 1, Noise: noise, ArmOptions: seeds,
	}
	gaussian := func(kind dp.StreamKind, clip float64) (player, error) {
		if h.Noise.Budget, err = dp.GDPBudget(o.Epsilon, o.Delta); err != nil {
			return nil, err
		}
		h.Noise.Kind, h.Problem.Clip = kind, clip
		return private.NewHDB(h)
	}
	h.Choices, h.Problem.Clip = true, wideClip
	switch name {
	case Uniform:
		return &uniform{r: random.New(o.Seed+run, "private/study/uniform"), arms: o.Arms}, nil
	case Greedy:
		h.NonPrivate = true
	case LaplaceWide:
		h.Noise.Selection = dp.Laplace
	case ExponentialWide:
	case ExponentialTight:
		h.Problem.Clip = tightClip
	case SquareRootWide:
		// No increment is larger, so that its Euclidean clip changes none and is that of l∞.
		h.Choices = false
		return gaussian(dp.SquareRoot, wideClip*math.Sqrt(float64(o.Dim)))
	case SquareRootMedium:
		h.Choices = false
		return gaussian(dp.SquareRoot, 8.2)
	case SquareRootNarrow:
		h.Choices = false
		return gaussian(dp.SquareRoot, 3)
	case HonakerNarrow:
		h.Choices = false
		return gaussian(dp.Honaker, 3)
	case LinearUCB:
		noise.Kind = dp.Tree
		return private.NewUCB(private.UCBOptions{
			Dim: o.Dim, Arms: o.Arms, Horizon: int64(o.Rounds), Features: math.Sqrt(float64(o.Dim) / 3), Rewards: 1,
			Norm: trueNorm, Deviation: deviation, Alpha: 0.05, Width: 1, Noise: noise, ArmOptions: seeds,
		})
	default:
		return nil, noregret.Errorf(noregret.Usage, "column", "%q: want one of %v", name, BanditColumns())
	}
	return private.NewHDB(h)
}

// uniform draws arms at random.
type uniform struct {
	r    *random.Source
	arms int
}

func (u *uniform) Choose([]float64) (int, error) { return u.r.IntN(u.arms), nil }
func (u *uniform) Reward(float64) error          { return nil }
