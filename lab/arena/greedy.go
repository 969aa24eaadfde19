package arena

import "github.com/noregret/noregret/pasto"

// greedy is the ε-greedy linear program: it serves the best mixture by the estimates, with hard
// guardrails held by z standard errors, beside the share ε_t = min(½, 1/√(t+1)) of the uniform
// mixture. It deploys that mixture. The safe form serves the best one by the bounds that it must
// hold.
type greedy struct {
	goals   *pasto.Goals
	errors  float64
	guard   *guard
	program program
}

func newGreedy(z float64) func(*Task) (estimator, policy) {
	return func(task *Task) (estimator, policy) {
		return newTally(task), &greedy{goals: task.Goals, errors: z, guard: task.guard}
	}
}

// newContrasts is the same with estimates of the arms' effects beside those of rounds.
func newContrasts(task *Task) (estimator, policy) {
	return newEffects(task), &greedy{goals: task.Goals, errors: 2, guard: task.guard}
}

// plan implements policy. Until each arm was seen it serves all alike.
func (g *greedy) plan(t int, e *estimates, serving, deployed []float64) error {
	if err := g.program.maximize(g.goals, e, 0, standardErrors(g.goals, g.errors), deployed); err != nil {
		return err
	}
	if !e.all() {
		uniform(serving)
		return nil
	}
	copy(serving, deployed)
	if g.guard != nil {
		if err := g.program.maximize(g.goals, e, 0, g.guard.caution, serving); err != nil {
			return err
		}
	}
	spread(serving, explored(t))
	return nil
}
