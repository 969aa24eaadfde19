package play

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/regret"
)

// BanditOptions are the learners, the game and the runs of [RunBandits]. The zero value is refused:
// Learners, Game, Rounds and Runs are required.
type BanditOptions struct {
	// Learners name the algorithms: each is a name with options or a sweep, as [ParseSweep] reads
	// it.
	Learners []string
	// Game names the game, with options as [ParseSpec] reads it; see [BanditGames].
	Game string
	// LearnerEntries are algorithms of the caller's own, which Learners may name like the others.
	// Their names must be new.
	LearnerEntries []BanditEntry
	// Means are the mean losses of the arms of the games that take them, nil for 0.1, 0.5 and 0.9.
	Means []float64
	// Arms is the number of arms of a game without means or data, 0 for the game's default.
	Arms int
	// Losses are the rows of the game losses, one number for each arm.
	Losses [][]float64
	// Log holds the decisions of the game replay on LogArms arms, with losses of at least 0.
	Log     []regret.LoggedPull
	LogArms int
	// Rounds and Runs are at least 1. Run r, counted from 0, has the seed Seed + r.
	Rounds, Runs int
	Seed         uint64
	// Checkpoints is the number of points of each curve.
	Checkpoints int
	// Workers is the number of runs at once, 0 for one a processor. Results do not depend on it.
	Workers int
	// Skipped, if not nil, is called before the first round for each algorithm that cannot play the
	// game, with the reason, and the others play. It is an error if none is left, or if Skipped is
	// nil.
	Skipped func(learner string, reason error)
	// Progress, if not nil, is called with the number of rounds played so far by all learners
	// together and the name of the learner that plays. Calls do not overlap.
	Progress func(rounds int64, learner string)
}

// BanditResult is the regret of one algorithm over its runs.
type BanditResult struct {
	// Learner and Game are the names with their options, and Seed is that of the first run.
	Learner, Game string
	Seed          uint64
	// Means are the mean losses of the game, nil if it has none.
	Means []float64
	// Bound is the theorem's bound of the expected regret, NaN if there is none for the game. The
	// points of the curve have theirs in Theory.
	Bound float64
	// LowerBound is c·ln T for the least c that algorithms can attain on this game as T grows, if
	// their regret grows slower than each power of T on all games of its kind (Lai and Robbins
	// 1985). For few rounds the regret may be below. NaN for games without means.
	LowerBound float64
	*regret.BanditReport
}

// Regret is the pseudo-regret or, in a game without means, the mean of the realized one. It is what
// Bound bounds.
func (r *BanditResult) Regret() regret.MeanError {
	if math.IsNaN(r.Pseudo.Mean) {
		return r.Realized
	}
	return r.Pseudo
}

// Ratio is the share of the bound that the regret uses, NaN without a bound.
func (r *BanditResult) Ratio() float64 { return r.Regret().Mean / r.Bound }

// Holds reports whether the regret is within the bound up to 4 standard errors and rounding. A
// result without a bound holds. Of a single run, whose regret may exceed the expected one, that is
// not known.
func (r *BanditResult) Holds() (holds, known bool) {
	v := r.Regret()
	if math.IsNaN(r.Bound) || math.IsInf(r.Bound, 1) {
		return true, true
	}
	if r.Runs == 1 {
		return false, false
	}
	return !(v.Mean-float64(4*v.StandardError) > r.Bound*(1+1e-9)), true
}

// RunBandits plays bandit algorithms in a game, each in the same runs, and returns one result for
// each. All names and options are checked before the first round; an algorithm that does not fit
// the game is an error of code usage that lists those that do, or skipped.
func RunBandits(ctx context.Context, o BanditOptions) ([]BanditResult, error) {
	s, specs, contenders, err := prepareBandits(&o)
	if err != nil {
		return nil, err
	}
	results := make([]BanditResult, 0, len(specs))
	var lock sync.Mutex
	var done int64
	for i, c := range contenders {
		name := specs[i].String()
		report := func(rounds int) {
			if o.Progress == nil {
				return
			}
			lock.Lock()
			defer lock.Unlock()
			done += int64(rounds)
			o.Progress(done, name)
		}
		r, err := s.play(ctx, &o, c, report)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", name, s.title, err)
		}
		result := BanditResult{
			Learner: name, Game: s.title, Seed: o.Seed, Means: s.means, BanditReport: r,
			Bound: math.NaN(), LowerBound: s.lowerBound(o.Rounds),
		}
		if c.Bound != nil {
			result.Bound = c.Bound(o.Rounds)
		}
		results = append(results, result)
	}
	return results, nil
}

// play plays the runs of one algorithm.
func (s *banditSetting) play(ctx context.Context, o *BanditOptions, c Contender,
	report func(int),
) (*regret.BanditReport, error) {
	player := func(int) (regret.BanditPlayer, error) { return c.New() }
	if s.game == nil {
		return regret.ReplicateLog(ctx, regret.LogReplication{
			Player: player, Arms: s.problem.Arms, Log: s.log, Rounds: o.Rounds, Runs: o.Runs, Seed: o.Seed,
			Workers: o.Workers, Checkpoints: o.Checkpoints, Theory: c.Bound, Progress: report,
		})
	}
	return regret.Replicate(ctx, regret.Replication{
		Player: player, Game: s.game, Rounds: o.Rounds, Runs: o.Runs, Seed: o.Seed, Workers: o.Workers,
		Checkpoints: o.Checkpoints, Theory: c.Bound, Progress: report,
	})
}

// prepareBandits checks the options and prepares every algorithm for the game.
func prepareBandits(o *BanditOptions) (*banditSetting, []Spec, []Contender, error) {
	switch {
	case len(o.Learners) == 0:
		return nil, nil, nil, noregret.Errorf(noregret.Usage, "learner", "at least one is required")
	case o.Rounds < 1:
		return nil, nil, nil, noregret.Errorf(noregret.Usage, "rounds", "%d: want at least 1", o.Rounds)
	case o.Runs < 1:
		return nil, nil, nil, noregret.Errorf(noregret.Usage, "runs", "%d: want at least 1", o.Runs)
	}
	s, err := newBanditSetting(o)
	if err != nil {
		return nil, nil, nil, err
	}
	entries := append(banditLearners(), o.LearnerEntries...)
	seen := map[string]bool{}
	for _, e := range entries {
		if err := checkName("learner", e.Name, seen); err != nil {
			return nil, nil, nil, err
		}
	}
	var specs []Spec
	var contenders []Contender
	for _, name := range o.Learners {
		sweep, err := ParseSweep("learner", name)
		if err != nil {
			return nil, nil, nil, err
		}
		specs = append(specs, sweep...)
	}
	specs, err = fitters(specs, o.Skipped, func(spec Spec) error {
		_, err := contender(entries, spec, s)
		return err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	for _, spec := range specs {
		c, err := contender(entries, spec, s)
		if err != nil {
			return nil, nil, nil, err
		}
		contenders = append(contenders, c)
	}
	return s, specs, contenders, nil
}

// contender prepares an algorithm. The error for one that cannot play the game lists those that
// can.
func contender(entries []BanditEntry, spec Spec, s *banditSetting) (Contender, error) {
	var fits []string
	for i := range entries {
		if _, err := entries[i].prepare(s.problem, nil); err == nil {
			fits = append(fits, entries[i].Name)
		}
	}
	for i := range entries {
		if e := &entries[i]; e.Name == spec.Name {
			c, err := e.prepare(s.problem, spec.Options)
			if err == nil {
				return c, nil
			}
			err = noregret.Errorf(noregret.Usage, "learner", "%s cannot play %s: %w; it is played by %s", spec, s.title,
				err, strings.Join(fits, ", "))
			if !slices.Contains(fits, e.Name) { // the fault is not in the options
				err = misfitError{err}
			}
			return c, err
		}
	}
	var err error = noregret.Errorf(noregret.Usage, "learner",
		"%q is no bandit algorithm, and %s is a bandit game; %sit is played by %s", spec.Name, s.title,
		named.DidYouMean(spec.Name, fits), strings.Join(fits, ", "))
	if all, failed := Learners(); failed == nil && slices.ContainsFunc(all, func(l LearnerInfo) bool {
		return l.Name == spec.Name
	}) {
		err = misfitError{err} // it plays other games
	}
	return Contender{}, err
}

// banditFits returns the names of the bandit games that an algorithm can play: those with means or
// an adversary as they are by default, and those of data with losses 0 or 1.
func banditFits(e *BanditEntry) []string {
	var names []string
	for _, g := range BanditGames() {
		problem := BanditProblem{Arms: 2, Rounds: arenaRounds, Limit: 1, Binary: true, Deviation: 0.5}
		if g.Takes == "" {
			s, err := newBanditSetting(&BanditOptions{Game: g.Name, Rounds: arenaRounds})
			if err != nil {
				continue
			}
			problem = s.problem
		}
		if _, err := e.prepare(problem, nil); err == nil {
			names = append(names, g.Name)
		}
	}
	return names
}
