// Package scoring serves a trained classifier over HTTP: predictions of rows, and their labels when
// they come. It is what "noregret score" runs. The predictions are those of package
// classify/serving; access tokens, limits, errors and the listener are those of the decision
// service ([server.Front]).
//
//	s, err := scoring.New(model, scoring.DefaultConfig())
//	err = s.Run(ctx, "127.0.0.1:8090", nil, 30*time.Second, ready) // until ctx ends
//
// docs/how-to/score.md shows the calls.
package scoring
