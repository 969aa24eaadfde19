package arena

import "github.com/noregret/noregret/pasto"

// optimistic is the optimistic linear program with pessimistic guardrails (Pacchiano, Ghavamzadeh,
// Bartlett and Jiang, "Stochastic bandits with linear constraints", 2021): it serves the mixture
// that is best where goals are two standard errors better and hard guardrails two standard errors
// worse than estimated. It deploys the best one by the estimates, with the same guardrails. The
// safe form serves within the bounds that it must hold.
type optimistic struct {
	goals   *pasto.Goals
	guard   *guard
	program program
}

// optimisticErrors is the number of standard errors, of goals and of guardrails.
const optimisticErrors = 2

func newOptimistic(task *Task) (estimator, policy) {
	return newTally(task), &optimistic{goals: task.Goals, guard: task.guard}
}

// plan implements policy. Until each arm was seen it serves all alike.
func (o *optimistic) plan(_ int, e *estimates, serving, deployed []float64) error {
	hold := standardErrors(o.goals, optimisticErrors)
	if err := o.program.maximize(o.goals, e, 0, hold, deployed); err != nil {
		return err
	}
	if !e.all() {
		uniform(serving)
		return nil
	}
	if o.guard != nil {
		hold = o.guard.caution
	}
	return o.program.maximize(o.goals, e, optimisticErrors, hold, serving)
}
