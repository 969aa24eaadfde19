package papers

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/play"
	"github.com/noregret/noregret/regret"
)

// DriftPoint is the dynamic regret of a learner in a lower bound's family for one horizon and one
// budget.
type DriftPoint struct {
	Rounds    int         `json:"rounds"`
	Variation show.Number `json:"variation"`
	// Regret is the mean over the runs and Error its standard error, NaN for one run.
	Regret show.Number `json:"regret"`
	Error  show.Number `json:"error"`
	// Floor is a regret that the expectation of no learner is below in the worst case, and Bound
	// the theorem's bound for this learner.
	Floor show.Number `json:"floor"`
	Bound show.Number `json:"bound"`
}

// DriftSlope is a slope of ln regret, and the theory's.
type DriftSlope struct {
	// Value is the least-squares slope over the points, and Error its standard error from the
	// errors of the means.
	Value show.Number `json:"slope"`
	Error show.Number `json:"error"`
	// Theory is the exponent of the theorem's bound, without logarithms.
	Theory show.Number `json:"theory"`
}

// DriftRate measures how the dynamic regret of a restarted learner grows with the horizon and with
// the variation in one setting.
type DriftRate struct {
	// Setting is the setting's name and Game that of the lower bound's family, a game of
	// regret.Games or a variant of one.
	Setting string `json:"setting"`
	Game    string `json:"game"`
	// Runs is the number of runs of each point that the means are from, of those Asked for.
	Runs  int `json:"runs"`
	Asked int `json:"runs_asked"`
	// InRounds and InVariation are the slopes of ln regret in ln T and in ln V.
	InRounds    DriftSlope `json:"in_rounds"`
	InVariation DriftSlope `json:"in_variation"`
	// Horizons have one budget and different horizons, Variations one horizon and different
	// budgets.
	Horizons   []DriftPoint `json:"horizons"`
	Variations []DriftPoint `json:"variations"`
}

// driftNoise is the standard deviation of the noise for the rates.
const driftNoise = 1

// driftTrap is a setting of [RunDriftRates].
type driftTrap struct {
	setting drift.Setting
	game    string
	rounds  show.Number // the theory's exponents
	budget  show.Number
	trap    func(rounds int, variation, noise float64) (regret.Trap, error)
	make    func(trap regret.Trap, noise float64, seed uint64) (*regret.Varying, error)
	learner func(t *driftPoint) (func(set convex.Set, seed uint64) (regret.Player, error), func(n int) float64)
}

// driftPoint is a point before it is played.
type driftPoint struct {
	budget drift.Budget
	size   int // of a batch
	trap   regret.Trap
}

// driftTraps are the settings in the order of the results.
func driftTraps() []driftTrap {
	return []driftTrap{
		{
			drift.ConvexGradient, "gradient-trap", 2.0 / 3, 1.0 / 3, regret.GradientTrap, regret.NewGradientTrap,
			func(p *driftPoint) (func(convex.Set, uint64) (regret.Player, error), func(int) float64) {
				// A subgradient is at most ½ + 2δ.
				return descents(p, 0, 0.5+2*p.trap.Delta)
			},
		},
		{
			drift.StronglyConvexGradient, "curved-trap", 0.5, 0.5, regret.CurvedTrap, regret.NewCurvedTrap,
			func(p *driftPoint) (func(convex.Set, uint64) (regret.Player, error), func(int) float64) {
				return descents(p, 2, 1+p.trap.Delta)
			},
		},
		{
			drift.StronglyConvexCost, "cost-trap", 2.0 / 3, 1.0 / 3, regret.CostTrap, regret.NewCostTrap,
			estimatedSteps,
		},
		{
			drift.ConvexCost, "gradient-trap in longer batches", 4.0 / 5, 1.0 / 5, longTrap, regret.NewGradientTrap,
			trials,
		},
	}
}

// longTrap has the losses of a gradient trap in batches of (T/V)^(4/5) rounds, those of the learner
// for convex losses and costs: δ = VΔ/(2T). No lower bound of the order V^(1/5)·T^(4/5) is known,
// and the floor is that of the gradient trap itself, which holds for costs as well: they tell less
// than gradients.
func longTrap(rounds int, variation, noise float64) (regret.Trap, error) {
	trap, err := regret.GradientTrap(rounds, variation, noise)
	if err != nil {
		return trap, err
	}
	budget, err := drift.NewBudget(rounds, variation)
	if err != nil {
		return trap, err
	}
	trap.Batch = budget.BatchSize(drift.ConvexCost)
	trap.Delta = min(variation*float64(trap.Batch)/(2*float64(rounds)), 0.2)
	return trap, nil
}

// trials returns the restarted one-point bandit gradient descent, and its bound for a batch. Costs
// are at most ½ + δ + 1/16, and subgradients at most ½ + 2δ.
func trials(p *driftPoint) (func(convex.Set, uint64) (regret.Player, error), func(int) float64) {
	make := func(n int) (*drift.BGD, error) {
		set, err := convex.NewCube(1, 0, 1)
		if err != nil {
			return nil, err
		}
		o := drift.DefaultBGDOptions(set, n, 0.5625+p.trap.Delta)
		o.Lipschitz, o.Deviation = 0.5+2*p.trap.Delta, driftNoise
		return drift.NewBGD(o)
	}
	static := func(n int) float64 {
		l, err := make(n)
		if err != nil {
			return math.Inf(1)
		}
		return l.Bound()
	}
	return func(_ convex.Set, seed uint64) (regret.Player, error) {
		l, err := make(p.size)
		if err != nil {
			return nil, err
		}
		return restartedCosts(l, p.size, seed)
	}, static
}

// restartedCosts restarts a learner of costs from scratch in batches.
func restartedCosts(l drift.CostLearner, size int, seed uint64) (regret.Player, error) {
	trigger, err := forget.Every(size)
	if err != nil {
		return nil, err
	}
	restarted, err := drift.NewRestartedCost(l, trigger, drift.Full)
	if err != nil {
		return nil, err
	}
	return play.NewCostPlayer(restarted, seed)
}

// descents returns restarted gradient descent for losses of a curvature, 0 for none, with
// subgradients of at most the given length, and its bound for a batch.
func descents(p *driftPoint, curvature, length float64,
) (func(convex.Set, uint64) (regret.Player, error), func(int) float64) {
	const radius = 0.5
	size := math.Sqrt(float64(length*length) + driftNoise*driftNoise)
	static := func(n int) float64 {
		if curvature > 0 {
			return drift.StronglyConvexBound(curvature, size, n)
		}
		return drift.DescentBound(radius, size, n)
	}
	return func(set convex.Set, _ uint64) (regret.Player, error) {
		return drift.NewRestartedDescent(drift.GradientOptions{
			Budget: p.budget, Set: set, First: []float64{0.5}, Radius: radius, Lipschitz: size, Curvature: curvature,
		})
	}, static
}

// estimatedSteps returns the restarted estimated gradient step, and its bound for a batch. Costs on
// [−1, 2] are at most 2.75 + 1.5δ.
func estimatedSteps(p *driftPoint) (func(convex.Set, uint64) (regret.Player, error), func(int) float64) {
	const curvature, depth = 2, 1
	cost := 2.75 + float64(1.5*p.trap.Delta)
	static := func(n int) float64 { return drift.EGSBound(1, curvature, curvature, cost, driftNoise, n) }
	return func(set convex.Set, seed uint64) (regret.Player, error) {
		egs, err := drift.NewEGS(drift.EGSOptions{
			Set: set, First: []float64{0.5}, Curvature: curvature, Depth: depth,
		})
		if err != nil {
			return nil, err
		}
		return restartedCosts(egs, p.size, seed)
	}, static
}

// The grids of [RunDriftRates]: horizons for one budget, and budgets for one horizon.
var (
	driftRateRounds     = []int{16_000, 64_000, 256_000, 1_024_000}
	driftRateVariations = []float64{1, 4, 16, 64}
)

const (
	driftRateBudget  = 2
	driftRateHorizon = 256_000
)

// RunDriftRates plays a restarted learner in each setting against the family of losses that gives
// the setting's lower bound, with normal noise of deviation 1, for horizons from 16,000 to
// 1,024,000 at the budget 2, and for budgets from 1 to 64 at the horizon 256,000. The options and
// errors are as for [RunDrift].
func RunDriftRates(ctx context.Context, o DriftOptions) ([]DriftRate, error) {
	return runDriftRates(ctx, o, driftRateRounds, driftRateVariations, driftRateHorizon)
}

// runDriftRates is [RunDriftRates] for other grids.
func runDriftRates(ctx context.Context, o DriftOptions, rounds []int, variations []float64, horizon int,
) ([]DriftRate, error) {
	if o.Runs < 1 || o.Runs > 1e6 {
		return nil, noregret.Errorf(noregret.Usage, "runs", "%d: want from 1 to 1000000", o.Runs)
	}
	var jobs []driftJob
	var rates []DriftRate
	for _, s := range driftTraps() {
		r := DriftRate{Setting: s.setting.String(), Game: s.game}
		r.InRounds.Theory, r.InVariation.Theory = s.rounds, s.budget
		for i := range len(rounds) + len(variations) {
			n, v, list := horizon, 0.0, &r.Variations
			if i < len(rounds) {
				n, v, list = rounds[i], driftRateBudget, &r.Horizons
			} else {
				v = variations[i-len(rounds)]
			}
			point, played, err := s.point(n, v)
			if err != nil {
				return nil, err
			}
			*list = append(*list, point)
			for run := range o.Runs {
				jobs = append(jobs, driftJob{
					rounds: n, run: run, stream: fmt.Sprintf("rates/%v/%v", s.setting, v), play: played,
				})
			}
		}
		rates = append(rates, r)
	}
	runs, err := playDrift(ctx, jobs, o)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	for i := range rates {
		rates[i].Runs, rates[i].Asked = runs, o.Runs
		for _, list := range [][]DriftPoint{rates[i].Horizons, rates[i].Variations} {
			for k := range list {
				mean, deviation := meanRegret(jobs[:runs])
				list[k].Regret, list[k].Error = show.Number(mean), show.Number(deviation)
				jobs = jobs[o.Runs:]
			}
		}
		rates[i].InRounds.measure(rates[i].Horizons, func(p DriftPoint) float64 { return float64(p.Rounds) })
		rates[i].InVariation.measure(rates[i].Variations, func(p DriftPoint) float64 { return float64(p.Variation) })
	}
	return rates, err
}

// point returns a point of the setting, without its regret, and a function that plays one run.
func (s *driftTrap) point(rounds int, variation float64,
) (DriftPoint, func(context.Context, uint64) (float64, error), error) {
	budget, err := drift.NewBudget(rounds, variation)
	if err != nil {
		return DriftPoint{}, nil, err
	}
	trap, err := s.trap(rounds, variation, driftNoise)
	if err != nil {
		return DriftPoint{}, nil, err
	}
	p := &driftPoint{budget: budget, size: budget.BatchSize(s.setting), trap: trap}
	player, static := s.learner(p)
	point := DriftPoint{
		Rounds: rounds, Variation: show.Number(variation), Floor: show.Number(trap.Floor),
		Bound: show.Number(budget.RestartBound(p.size, static)),
	}
	return point, func(ctx context.Context, seed uint64) (float64, error) {
		game, err := s.make(trap, driftNoise, seed)
		if err != nil {
			return 0, err
		}
		learner, err := player(game.Set(), seed)
		if err != nil {
			return 0, err
		}
		cert, err := regret.Play(ctx, learner, game, rounds, regret.Options{
			Comparator: []float64{0}, // none is sought
			Moving:     func(u []float64, _ int) { u[0] = game.Minimizer() },
		})
		if err != nil {
			return 0, err
		}
		return cert.DynamicRegret, nil
	}, nil
}

// measure fits ln regret to ln x.
func (s *DriftSlope) measure(points []DriftPoint, x func(DriftPoint) float64) {
	var logs, regrets, errors []float64
	for _, p := range points {
		logs = append(logs, portable.Log(x(p)))
		regrets = append(regrets, portable.Log(float64(p.Regret)))
		errors = append(errors, float64(p.Error/p.Regret))
	}
	l := fitLine(logs, regrets, errors)
	s.Value, s.Error = show.Number(l.slope), show.Number(l.spread)
}
