// Package parallel plays independent runs at the same time, with results that do not depend on how
// many of them that are.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Runs returns the results of play(0), ..., play(n−1), in this order, and plays as many of them at
// a time as there are workers: one for each processor if workers is below 1. Runs begin in their
// order. After each run it calls done, unless that is nil, with the index of the run; these calls
// do not overlap.
//
// Once ctx has ended or a run has failed no other run begins. Runs then returns the error of ctx,
// or that of the first failed run by index, beside the results so far; those of other runs are
// zero.
func Runs[T any](ctx context.Context, n, workers int, done func(run int), play func(run int) (T, error)) ([]T, error) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	out, errs := make([]T, n), make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var group sync.WaitGroup
	var reporting sync.Mutex
	for range min(workers, n) {
		group.Go(func() {
			for !failed.Load() && ctx.Err() == nil {
				run := int(next.Add(1)) - 1
				if run >= n {
					return
				}
				if out[run], errs[run] = play(run); errs[run] != nil {
					failed.Store(true)
					return
				}
				if done != nil {
					reporting.Lock()
					done(run)
					reporting.Unlock()
				}
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return out, err
	}
	for _, err := range errs {
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
