package server

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// steadyClock is the service's clock. It follows the machine's clock while this goes steadily, and
// does not follow a step of it at once: it goes on by the time that has elapsed, and approaches the
// machine's clock by at most a hundredth of that. So it never goes back, and a step of two hours,
// which would make feedback late or early by two hours, moves it by 36 seconds in an hour.
type steadyClock struct {
	wall    func() time.Time     // the machine's clock
	elapsed func() time.Duration // of the process, whatever steps the machine's clock makes
	logger  *slog.Logger

	mu    sync.Mutex
	begun bool
	at    time.Duration // elapsed at the latest reading
	now   time.Time     // the latest reading
	step  time.Duration // by which the machine's clock is ahead of this one
	steps int64         // so far
}

// A difference of at least clockStep is a step. Smaller ones are those of a clock that is kept
// right: ahead, they are followed at once; behind, at half of the elapsed time.
const (
	clockStep = 2 * time.Second
	clockSlew = 100 // approaches the machine's clock by 1/clockSlew of the elapsed time
)

// newSteadyClock returns a clock that reads the machine's.
func newSteadyClock(wall func() time.Time, elapsed func() time.Duration, logger *slog.Logger) *steadyClock {
	return &steadyClock{wall: wall, elapsed: elapsed, logger: logger}
}

// Now returns the service's time. It never goes back.
func (c *steadyClock) Now() time.Time {
	wall, at := c.wall().Round(0), c.elapsed()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		c.begun, c.now, c.at = true, wall, at
		return c.now
	}
	passed := max(at-c.at, 0)
	c.at = max(at, c.at)
	c.now = c.now.Add(passed)
	off := wall.Sub(c.now)
	switch {
	case off.Abs() < clockStep && c.step.Abs() >= clockStep:
		c.logger.Info("the service's time is that of the machine again")
	case off.Abs() >= clockStep && (off-c.step).Abs() >= clockStep:
		c.steps++
		c.logger.Warn("the machine's clock has made a step, which the service follows slowly",
			"ahead", off.Round(time.Millisecond))
	}
	var follow time.Duration
	switch {
	case off.Abs() >= clockStep && off > 0:
		follow = min(passed/clockSlew, off)
	case off.Abs() >= clockStep:
		follow = max(-passed/clockSlew, off)
	case off > 0:
		follow = off
	default:
		follow = max(-passed/2, off)
	}
	c.now, c.step = c.now.Add(follow), off-follow
	return c.now
}

// ahead returns by how much the machine's clock is ahead of the service's, 0 below a step, and the
// number of steps so far.
func (c *steadyClock) ahead() (off time.Duration, steps int64) {
	if c == nil {
		return 0, 0
	}
	c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.step.Abs() < clockStep {
		return 0, c.steps
	}
	return c.step, c.steps
}

// problem returns what operators should know of the clock, "" for nothing.
func (c *steadyClock) problem() string {
	off, _ := c.ahead()
	if off == 0 {
		return ""
	}
	where := "ahead of"
	if off < 0 {
		where = "behind"
	}
	return fmt.Sprintf(
		"clock: the machine's clock has made a step and is %v %s the service's time, which follows by a "+
			"hundredth of the time that passes; if the machine is right, restart the service",
		off.Abs().Round(time.Second), where)
}
