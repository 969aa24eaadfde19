package parallel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
)

// TestRuns: the results are in the order of the runs for any number of workers, no more runs play
// at a time than there are workers, and each is reported once.
func TestRuns(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 100} {
		var playing, most atomic.Int64
		var reported []int
		out, err := Runs(t.Context(), 50, workers, func(run int) { reported = append(reported, run) },
			func(run int) (int, error) {
				most.Store(max(most.Load(), playing.Add(1)))
				defer playing.Add(-1)
				return run * run, nil
			})
		if err != nil || len(out) != 50 {
			t.Fatalf("%d workers: %v, %v", workers, out, err)
		}
		for run, v := range out {
			if v != run*run {
				t.Errorf("%d workers: run %d has %d", workers, run, v)
			}
		}
		if workers > 0 && most.Load() > int64(workers) {
			t.Errorf("%d runs at a time, want at most %d", most.Load(), workers)
		}
		if slices.Sort(reported); len(reported) != 50 || reported[0] != 0 || len(slices.Compact(reported)) != 50 {
			t.Errorf("reported %v", reported)
		}
	}
}

// TestFailure: a failed run ends the others, and its error is returned with what has been played.
func TestFailure(t *testing.T) {
	broken := errors.New("broken")
	out, err := Runs(t.Context(), 1000, 2, nil, func(run int) (int, error) {
		if run >= 10 {
			return 0, fmt.Errorf("run %d: %w", run, broken)
		}
		return 1, nil
	})
	if !errors.Is(err, broken) || err.Error() != "run 10: broken" || !slices.Equal(out[:11], append(
		slices.Repeat([]int{1}, 10), 0)) {
		t.Errorf("%v, %v", out[:11], err)
	}
}

// TestEnd: no run begins after the context has ended, and its error is returned.
func TestEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	played, err := Runs(ctx, 100, 1, nil, func(run int) (bool, error) {
		if run == 4 {
			cancel()
		}
		return true, nil
	})
	if !errors.Is(err, context.Canceled) || !played[4] || played[5] {
		t.Errorf("%v, %v", played[:6], err)
	}
}
