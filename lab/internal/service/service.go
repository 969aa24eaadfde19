// Package service plays an experiment by the rules of the decision service without a server: it
// folds the experiment's events in simulated time. The studies that measure the service draw what
// units do and hand it over as events.
package service

import (
	"fmt"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
)

// Service is the state of one experiment and its clock. It is not safe for concurrent use.
type Service struct {
	// State is what the events so far have made.
	State *experiment.State
	// Now is the time in nanoseconds since 1970. It begins with the year 2026.
	Now int64
}

// New defines an experiment. An error of the definition names the place.
func New(place string, text []byte) (*Service, error) {
	d, err := definition.Parse(place, text)
	if err != nil {
		return nil, err
	}
	s := &Service{
		State: experiment.NewState(), Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
	}
	events, err := s.State.Plan(d, s.Now)
	if err != nil {
		return nil, err
	}
	return s, s.apply(events)
}

// Report applies an event that happens now. It returns an error if an item of it is not accepted.
func (s *Service) Report(kind string, payload any) error {
	e, err := experiment.NewEvent(kind, s.Now, payload)
	if err != nil {
		return err
	}
	return s.apply([]experiment.Event{e})
}

// Pass lets time pass, and then applies the events that it has made possible, until there are none.
func (s *Service) Pass(d time.Duration) error {
	s.Now += int64(d)
	for due := s.State.Due(s.Now); len(due) > 0; due = s.State.Due(s.Now) {
		if err := s.apply(due); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) apply(events []experiment.Event) error {
	for _, e := range events {
		_, o, err := s.State.Step(e)
		if err != nil {
			return err
		}
		for _, item := range o.Items {
			if item.Status != api.Accepted {
				return fmt.Errorf("%s: %s %s", e.Kind, item.Status, item.Error)
			}
		}
		if o.Err != nil {
			return o.Err
		}
	}
	return nil
}
