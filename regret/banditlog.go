package regret

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// LoggedPull is a pull in a log: the arm, the probability with which it was chosen, and its loss.
type LoggedPull struct {
	Arm        int
	Propensity float64
	Loss       float64
}

// LogReplication are the parameters of [ReplicateLog]. Those with the names of [Replication] mean
// the same.
type LogReplication struct {
	Player func(run int) (BanditPlayer, error)
	// Arms is the number of arms. Each arm must occur in Log.
	Arms int
	Log  []LoggedPull
	// Rounds is the largest number of rounds of a run.
	Rounds, Runs int
	Seed         uint64
	Workers      int
	Checkpoints  int
	Theory       func(rounds int) float64
	Progress     func(rounds int)
}

// ReplicateLog plays bandit players on the losses of a log by rejection sampling (Li, Chu, Langford
// and Wang 2011). Each run goes through the log once, in an order of its own. The player draws an
// arm, and rows are passed over until one of the same arm is accepted; its loss is that of the
// round. A row of the propensity p is accepted with the probability p_min/p, where p_min is the
// smallest propensity of the log, so that in a log of equal propensities every row of the arm is.
// The player then meets the losses that it would have met, if the rows are independent and the
// propensities right. A run ends with its last round or with the log: with d arms of equal
// propensity after about 1/d of the rows.
//
// The pseudo-regret takes as means those of the log, μ̂_i = Σ (loss/p) / Σ (1/p) over the rows of
// arm i. The realized regret is the loss beyond that of as many pulls with the lowest of them. The
// curve ends with the shortest run.
//
// It returns an error of code usage for bad parameters, of code bad_input for a bad log, and the
// first run's error if a player fails. It costs O(1) for each row and run, and O(rows) memory for
// each worker.
func ReplicateLog(ctx context.Context, o LogReplication) (*BanditReport, error) {
	switch {
	case o.Player == nil:
		return nil, noregret.Errorf(noregret.Usage, "replicate", "the player is nil")
	case o.Rounds < 1 || o.Runs < 1:
		return nil, noregret.Errorf(noregret.Usage, "rounds", "%d in %d runs: want at least 1 of both", o.Rounds,
			o.Runs)
	case o.Checkpoints < 0 || o.Workers < 0:
		return nil, noregret.Errorf(noregret.Usage, "checkpoints", "%d with %d workers: want at least 0 of both",
			o.Checkpoints, o.Workers)
	}
	means, least, err := logMeans(o.Log, o.Arms)
	if err != nil {
		return nil, err
	}
	o.Rounds = min(o.Rounds, len(o.Log))
	var marks []int
	if o.Checkpoints > 0 {
		marks = checkpoints(o.Rounds, o.Checkpoints)
	}
	report := atOnce(o.Progress)
	runs, err := playRuns(o.Runs, o.Workers, func(run int) banditRun {
		return o.play(ctx, run, means, least, marks, report)
	})
	if err != nil {
		return nil, err
	}
	reached := len(marks)
	for i := range runs {
		reached = min(reached, len(runs[i].curve))
	}
	return summarizeRuns(runs, o.Rounds, o.Arms, marks[:reached], o.Theory), nil
}

// logMeans returns the mean losses of the arms and the smallest propensity.
func logMeans(log []LoggedPull, arms int) (means []float64, least float64, err error) {
	if arms < 1 || arms > maxDim {
		return nil, 0, noregret.BadInputf("arms", "%d: want 1 to %d", arms, maxDim)
	}
	sums, weights := make([]total, arms), make([]total, arms)
	least = 1
	for i, r := range log {
		switch {
		case r.Arm < 0 || r.Arm >= arms:
			return nil, 0, noregret.BadInputf("log", "row %d: the arm %d is not one of 0 to %d", i+1, r.Arm, arms-1)
		case !(r.Propensity > 0 && r.Propensity <= 1):
			return nil, 0, noregret.BadInputf("log", "row %d: the propensity %v must be in (0, 1]", i+1, r.Propensity)
		case !vec.IsFinite(r.Loss) || !vec.IsFinite(r.Loss/r.Propensity):
			return nil, 0, noregret.BadInputf("log", "row %d: the loss %v with the propensity %v is not finite", i+1,
				r.Loss, r.Propensity)
		}
		sums[r.Arm].add(r.Loss / r.Propensity)
		weights[r.Arm].add(1 / r.Propensity)
		least = min(least, r.Propensity)
	}
	means = make([]float64, arms)
	for a := range means {
		if weights[a].value() == 0 {
			return nil, 0, noregret.BadInputf("log", "the arm %d does not occur: no loss of it is known", a)
		}
		means[a] = sums[a].value() / weights[a].value()
	}
	return means, least, nil
}

// play plays one run.
func (o *LogReplication) play(ctx context.Context, run int, means []float64, least float64, marks []int,
	report func(int),
) (result banditRun) {
	fail := func(err error) banditRun { return banditRun{err: err} }
	player, err := o.Player(run)
	if err != nil {
		return fail(err)
	}
	if player.Arms() != o.Arms {
		return fail(noregret.BadInputf("player", "%d arms, but the log has %d", player.Arms(), o.Arms))
	}
	seed := o.Seed + uint64(run)
	rows := newRejection(o.Log, least, random.New(seed, "bandit log"))
	draws, pulls, lowest := random.New(seed, "bandit draws"), make([]float64, o.Arms), slices.Min(means)
	var paid total
	rounds := 0
	note := func() {
		result.pseudo = PseudoRegret(means, pulls)
		result.realized = paid.value() - float64(float64(rounds)*lowest)
	}
	for rounds < o.Rounds {
		if rounds%progressRounds == 0 {
			if err := ctx.Err(); err != nil {
				return fail(err)
			}
		}
		arm := player.Draw(draws)
		if arm < 0 || arm >= o.Arms {
			return fail(noregret.Errorf(noregret.Internal, "player", "drew arm %d of %d", arm, o.Arms))
		}
		loss, ok := rows.next(arm)
		if !ok {
			break
		}
		rounds++
		if err := player.Update(arm, loss); err != nil {
			return fail(fmt.Errorf("round %d: %w", rounds, err))
		}
		pulls[arm]++
		paid.add(loss)
		if len(marks) > len(result.curve) && rounds == marks[len(result.curve)] {
			note()
			result.curve = append(result.curve, result.pseudo)
		}
	}
	note()
	report(o.Rounds)
	result.length, result.loss, result.pulls = float64(rounds), paid.value(), pulls
	return result
}

// rejection goes through the rows of a log in random order, once.
type rejection struct {
	log   []LoggedPull
	least float64 // the smallest propensity
	order []int32
	at    int
	r     *random.Source
}

func newRejection(log []LoggedPull, least float64, r *random.Source) *rejection {
	order := make([]int32, len(log))
	for i := range order {
		order[i] = int32(i)
	}
	for i := len(order) - 1; i > 0; i-- {
		j := min(int(math.Floor(float64(r.Float64()*float64(i+1)))), i)
		order[i], order[j] = order[j], order[i]
	}
	return &rejection{log: log, least: least, order: order, r: r}
}

// next returns the loss of the next accepted row of an arm. It reports false at the end of the log.
func (q *rejection) next(arm int) (loss float64, ok bool) {
	for q.at < len(q.order) {
		row := &q.log[q.order[q.at]]
		q.at++
		if row.Arm != arm {
			continue
		}
		if row.Propensity == q.least || q.r.Float64() < q.least/row.Propensity {
			return row.Loss, true
		}
	}
	return 0, false
}
