package regret

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

// BanditPlayer is a bandit algorithm as [Replicate] needs it: every bandit.Algorithm is one. In
// each round Draw chooses an arm, and Update takes its loss.
type BanditPlayer interface {
	Arms() int
	Draw(r Uniform) int
	Update(arm int, loss float64) error
}

// Replication are the parameters of [Replicate].
type Replication struct {
	// Player makes the player of a run, from 0. It is called from several goroutines at a time.
	Player func(run int) (BanditPlayer, error)
	Game   Arms
	// Rounds and Runs are at least 1.
	Rounds, Runs int
	// Seed is that of the first run; run r has Seed + r. The losses and the draws of a run come
	// from two streams of its seed: in the same run all players meet the same losses.
	Seed uint64
	// Workers is the number of runs at a time, by default GOMAXPROCS. It does not change the
	// results.
	Workers int
	// Checkpoints is the number of rounds, spread evenly over log T, at which the regret is noted.
	Checkpoints int
	// Theory, if not nil, is a bound as a function of the rounds, shown beside the curve.
	Theory func(rounds int) float64
	// Progress, if not nil, is called now and then with the number of rounds played since its last
	// call. Calls do not overlap.
	Progress func(rounds int)
}

// MeanError is the mean over runs with its standard error, which is NaN for a single run.
type MeanError struct{ Mean, StandardError float64 }

// BanditPoint is one point of the curve of a [BanditReport].
type BanditPoint struct {
	Round int
	// Regret is the pseudo-regret so far or, in a game without means, the realized one.
	Regret MeanError
	// Theory is that of the [Replication], NaN without one.
	Theory float64
}

// BanditReport is the regret of a player over several runs.
type BanditReport struct {
	// Rounds is the number of rounds of each run or, for a log, the largest number.
	Rounds, Runs int
	// Length is the number of rounds of a run: Rounds, unless a log has ended before.
	Length MeanError
	// Loss is the loss of the player.
	Loss MeanError
	// Pseudo is the pseudo-regret Σ_i N_i·Δ_i, where N_i is the number of pulls of arm i and Δ_i
	// its mean loss above the lowest. Its expectation is that of the loss beyond the best arm's
	// (Orabona 2019, Lemma 10.11), and it has less noise. NaN for games without means.
	Pseudo MeanError
	// Realized is the loss of the player beyond that of the best arm in hindsight.
	Realized MeanError
	// Pulls are the mean numbers of pulls N_i.
	Pulls []MeanError
	Curve []BanditPoint
}

// banditRun is what one run yields.
type banditRun struct {
	length, loss     float64
	pseudo, realized float64
	pulls            []float64
	curve            []float64
	err              error
}

// Replicate plays a bandit game in several independent runs, side by side. The report is the same
// for any number of workers. It returns an error of code usage for bad parameters, the first run's
// error if a player fails, and ctx's if it ends, which is noticed within 1024 rounds. It costs O(d)
// a round beside the player, and O(d + Checkpoints) memory for each run.
func Replicate(ctx context.Context, o Replication) (*BanditReport, error) {
	switch {
	case o.Player == nil || o.Game == nil:
		return nil, noregret.Errorf(noregret.Usage, "replicate", "the player or the game is nil")
	case o.Rounds < 1 || o.Runs < 1:
		return nil, noregret.Errorf(noregret.Usage, "rounds", "%d in %d runs: want at least 1 of both", o.Rounds,
			o.Runs)
	case o.Checkpoints < 0 || o.Workers < 0:
		return nil, noregret.Errorf(noregret.Usage, "checkpoints", "%d with %d workers: want at least 0 of both",
			o.Checkpoints, o.Workers)
	}
	var marks []int
	if o.Checkpoints > 0 {
		marks = checkpoints(o.Rounds, o.Checkpoints)
	}
	report := atOnce(o.Progress)
	runs, err := playRuns(o.Runs, o.Workers, func(run int) banditRun { return o.play(ctx, run, marks, report) })
	if err != nil {
		return nil, err
	}
	return summarizeRuns(runs, o.Rounds, o.Game.Arms(), marks, o.Theory), nil
}

// atOnce returns a function that calls progress, one call at a time; progress may be nil.
func atOnce(progress func(rounds int)) func(rounds int) {
	if progress == nil {
		return func(int) {}
	}
	var lock sync.Mutex
	return func(rounds int) {
		lock.Lock()
		defer lock.Unlock()
		progress(rounds)
	}
}

// playRuns plays runs side by side, and returns the error of the first that fails. With 0 workers
// it takes GOMAXPROCS.
func playRuns(n, workers int, play func(run int) banditRun) ([]banditRun, error) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	runs := make([]banditRun, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() {
			for run := next.Add(1) - 1; run < int64(n); run = next.Add(1) - 1 {
				runs[run] = play(int(run))
			}
		})
	}
	group.Wait()
	for i := range runs {
		if err := runs[i].err; err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
	}
	return runs, nil
}

// play plays one run.
func (o *Replication) play(ctx context.Context, run int, marks []int, report func(int)) (result banditRun) {
	fail := func(err error) banditRun { return banditRun{err: err} }
	player, err := o.Player(run)
	if err != nil {
		return fail(err)
	}
	d := o.Game.Arms()
	if player.Arms() != d {
		return fail(noregret.BadInputf("player", "%d arms, but the game has %d", player.Arms(), d))
	}
	seed := o.Seed + uint64(run)
	nature, draws := random.New(seed, "bandit losses"), random.New(seed, "bandit draws")
	losses, totals, pulls := make([]float64, d), make([]total, d), make([]float64, d)
	var paid total
	for t := 1; t <= o.Rounds; t++ {
		if t%progressRounds == 1 {
			if err := ctx.Err(); err != nil {
				return fail(err)
			}
			if t > 1 {
				report(progressRounds)
			}
		}
		o.Game.Losses(losses, t, nature)
		arm := player.Draw(draws)
		if arm < 0 || arm >= d {
			return fail(noregret.Errorf(noregret.Internal, "player", "drew arm %d of %d in round %d", arm, d, t))
		}
		if err := player.Update(arm, losses[arm]); err != nil {
			return fail(fmt.Errorf("round %d: %w", t, err))
		}
		pulls[arm]++
		paid.add(losses[arm])
		for i, g := range losses {
			totals[i].add(g)
		}
		if len(marks) > len(result.curve) && t == marks[len(result.curve)] {
			result.note(o.Game.Means(), pulls, &paid, totals)
			result.curve = append(result.curve, result.shown())
		}
	}
	report((o.Rounds-1)%progressRounds + 1)
	result.note(o.Game.Means(), pulls, &paid, totals)
	result.length, result.loss, result.pulls = float64(o.Rounds), paid.value(), pulls
	return result
}

// progressRounds is the number of rounds between two looks at the context.
const progressRounds = 1024

// note computes the regret so far.
func (r *banditRun) note(means, pulls []float64, paid *total, totals []total) {
	r.pseudo = math.NaN()
	if means != nil {
		r.pseudo = PseudoRegret(means, pulls)
	}
	least := math.Inf(1)
	for i := range totals {
		least = min(least, totals[i].value())
	}
	r.realized = paid.value() - least
}

// shown is the regret of the curve.
func (r *banditRun) shown() float64 {
	if math.IsNaN(r.pseudo) {
		return r.realized
	}
	return r.pseudo
}

// PseudoRegret is Σ_i N_i·Δ_i for N_i pulls of arms with these mean losses, where Δ_i = μ_i − min
// μ.
func PseudoRegret(means, pulls []float64) float64 {
	least, sum := slices.Min(means), 0.0
	for i, m := range means {
		sum += float64(pulls[i] * (m - least))
	}
	return sum
}

// summarizeRuns summarizes runs on d arms, in their order. Marks are the rounds of their curves.
func summarizeRuns(runs []banditRun, rounds, d int, marks []int, theory func(rounds int) float64) *BanditReport {
	over := func(value func(r *banditRun) float64) MeanError {
		x := make([]float64, len(runs))
		for i := range runs {
			x[i] = value(&runs[i])
		}
		return meanError(x)
	}
	c := &BanditReport{Rounds: rounds, Runs: len(runs)}
	c.Length = over(func(r *banditRun) float64 { return r.length })
	c.Loss = over(func(r *banditRun) float64 { return r.loss })
	c.Pseudo = over(func(r *banditRun) float64 { return r.pseudo })
	c.Realized = over(func(r *banditRun) float64 { return r.realized })
	for i := range d {
		c.Pulls = append(c.Pulls, over(func(r *banditRun) float64 { return r.pulls[i] }))
	}
	for k, round := range marks {
		p := BanditPoint{Round: round, Theory: math.NaN()}
		p.Regret = over(func(r *banditRun) float64 { return r.curve[k] })
		if theory != nil {
			p.Theory = theory(round)
		}
		c.Curve = append(c.Curve, p)
	}
	return c
}

// meanError returns the mean and its standard error.
func meanError(x []float64) MeanError {
	n, mean, squares := float64(len(x)), 0.0, 0.0
	for i, v := range x {
		d := v - mean
		mean += d / float64(i+1)
		squares += float64(d * (v - mean))
	}
	if n < 2 {
		return MeanError{mean, math.NaN()}
	}
	return MeanError{mean, math.Sqrt(squares / (n - 1) / n)}
}
