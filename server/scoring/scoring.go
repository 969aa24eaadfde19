package scoring

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/serving"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/server"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// Config configures a service. Start from [DefaultConfig].
type Config struct {
	// Limits are those of the decision service; MaxItems bounds the rows and labels of a request.
	server.Limits
	// Serving are the options of predictions and labels.
	Serving serving.Options
	// Unseen says what becomes of values of features that the model lacks.
	Unseen dataset.Unseen
	// Data is a directory for the state, which is made if it does not exist; "" keeps none. The
	// state is saved at the end and so often that less than SaveEvery rows and labels, at least 1,
	// were answered and are not saved, unless it cannot be saved.
	Data      string
	SaveEvery int
}

// DefaultConfig returns the defaults of the limits and of the options, ignores unseen features and
// keeps no state; with Data less than 10,000 rows and labels are not saved.
func DefaultConfig() Config {
	return Config{
		Limits: server.DefaultLimits(), Serving: serving.DefaultOptions(), Unseen: dataset.UnseenIgnore,
		SaveEvery: 10_000,
	}
}

// Validate returns an error of code usage for the first field out of its range.
func (c Config) Validate() error {
	if err := c.Serving.Validate(); err != nil {
		return err
	}
	if c.SaveEvery < 1 {
		return noregret.Errorf(noregret.Usage, "save every", "%d: want at least 1", c.SaveEvery)
	}
	return c.Limits.Validate()
}

// Service serves a model. Make one with [New] and Close it, unless [Service.Run] does.
type Service struct {
	config  Config
	model   *classify.Model // as the service was started
	digest  string
	serving *serving.Service
	logger  *slog.Logger
	front   *server.Front
	media   string    // of rows that are lines of text
	names   []string  // of labels, as answers have them
	parsers sync.Pool // of *dataset.RowParser
	store   *store    // nil without Data

	tellSkipped, tellStopped sync.Once
}

// textMedia are the media types of the formats whose rows may be lines of text.
var textMedia = map[dataset.Format]string{
	dataset.SVMLight: "text/x-svmlight", dataset.VW: "text/x-vw", dataset.JSONL: "application/jsonl",
}

// New makes a service of a model, with the state of Data if there is one. A model whose rows are
// not text is an error of code usage.
func New(m *classify.Model, c Config) (*Service, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &Service{config: c, model: m, media: textMedia[m.Schema.Format], names: m.Labels, logger: c.Logger}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	if m.Task == classify.Binary {
		s.names = []string{m.Positive(), m.NegativeName()}
	}
	first, err := dataset.NewRowParser(m.Schema, c.Unseen)
	if err != nil {
		return nil, err
	}
	s.parsers.New = func() any {
		p, err := dataset.NewRowParser(m.Schema, c.Unseen)
		if err != nil {
			panic(err) // the first one was made
		}
		return p
	}
	s.parsers.Put(first)
	if s.digest, err = m.Checksum(); err != nil {
		return nil, err
	}
	if s.serving, err = serving.New(m, c.Serving); err != nil {
		return nil, err
	}
	if c.Data != "" {
		if s.store, err = openStore(c.Data, c.SaveEvery, s.serving, s.logger); err != nil {
			return nil, err
		}
	}
	if s.front, err = server.NewFront(c.Limits, "docs/how-to/score.md", s.routes()); err != nil {
		return nil, errors.Join(err, s.store.close())
	}
	s.front.Registry().MustRegister(&collector{s.serving, s.store})
	return s, nil
}

// Handler serves the routes.
func (s *Service) Handler() http.Handler { return s.front.Handler() }

// ReloadTokens reads the file of access tokens again, as [server.Server.ReloadTokens] does.
func (s *Service) ReloadTokens() error { return s.front.ReloadTokens() }

// Close saves the state and ends the service, after its requests. A second call does nothing.
func (s *Service) Close() error {
	s.front.Close()
	return s.store.close()
}

// Run opens the address, calls ready and serves until the context ends; it then waits for running
// requests, for at most the given time, and closes the service. A nil certificate means plain HTTP.
// The address must be one that [server.Limits.CheckListen] allows.
func (s *Service) Run(ctx context.Context, address string, certificate *tls.Certificate, drain time.Duration,
	ready func(address net.Addr) error,
) error {
	err := s.front.Run(ctx, address, certificate, drain, ready)
	return errors.Join(err, s.Close())
}

func (s *Service) routes() []web.Route {
	return []web.Route{
		{Method: "POST", Pattern: "/v1/predict", Role: access.Decide, Compress: true, Serve: s.predict},
		{Method: "POST", Pattern: "/v1/labels", Role: access.Feedback, Compress: true, Serve: s.label},
		{Method: "GET", Pattern: "/v1/model", Role: access.Read, Serve: s.showModel},
		{Method: "GET", Pattern: "/v1/model/file", Role: access.Read, Serve: s.showFile},
	}
}

// predict answers rows.
func (s *Service) predict(w http.ResponseWriter, r *http.Request) error {
	types := []string{"application/json"}
	if s.media != "" {
		types = append(types, s.media)
	}
	body, err := web.Body(r, types...)
	if err != nil {
		return err
	}
	p := s.parsers.Get().(*dataset.RowParser)
	defer s.parsers.Put(p)
	var b *dataset.Block
	var ignored int64
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); s.media != "" && media == s.media {
		b, ignored, err = p.Lines(body)
	} else {
		var request PredictRequest
		if err := web.DecodeJSON(body, &request); err != nil {
			return err
		}
		if err := s.checkItems("rows", len(request.Rows)); err != nil {
			return err
		}
		b, ignored, err = p.Objects(request.Rows)
	}
	if err != nil {
		return err
	}
	if err := s.checkItems("rows", b.Len()); err != nil {
		return err
	}
	predictions, err := s.serving.Predict(b)
	if err != nil {
		return err
	}
	s.store.changed(len(predictions))
	answer := PredictAnswer{
		Predictions: make([]Prediction, len(predictions)), Ignored: ignored, IgnoredColumns: p.IgnoredColumns(),
	}
	for i := range predictions {
		s.answer(&answer.Predictions[i], &predictions[i])
	}
	return web.WriteJSON(w, http.StatusOK, answer)
}

// checkItems returns an error unless a request has 1 to MaxItems of something.
func (s *Service) checkItems(what string, n int) error {
	if n > s.config.MaxItems {
		return web.WithStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, what,
			"%d: want at most %d in a request", n, s.config.MaxItems)
	}
	if n == 0 {
		return noregret.BadInputf(what, "there are none: want 1 to %d", s.config.MaxItems)
	}
	return nil
}

// answer fills in the form of a prediction.
func (s *Service) answer(to *Prediction, p *serving.Prediction) {
	to.ID = p.ID
	if s.model.Task == classify.Binary {
		to.Label, to.Score = &s.names[1], &p.Scores[0]
		if len(p.Labels) > 0 {
			to.Label = &s.names[0]
		}
		if p.Probabilities != nil {
			to.Probability = &p.Probabilities[0]
		}
		return
	}
	if s.model.Task == classify.Multiclass {
		to.Label = &s.names[p.Labels[0]]
	} else {
		names := make([]string, len(p.Labels))
		for i, k := range p.Labels {
			names[i] = s.names[k]
		}
		to.Labels = &names
	}
	to.Scores, to.Probabilities = s.byName(p.Scores), s.byName(p.Probabilities)
}

// byName returns numbers of labels by their names, nil of nil.
func (s *Service) byName(numbers []float64) map[string]float64 {
	if numbers == nil {
		return nil
	}
	out := make(map[string]float64, len(numbers))
	for k, v := range numbers {
		out[s.names[k]] = v
	}
	return out
}

// label takes labels. Each item is answered for itself; a body that is not right changes nothing.
func (s *Service) label(w http.ResponseWriter, r *http.Request) error {
	var request LabelRequest
	if err := web.ReadJSON(r, &request); err != nil {
		return err
	}
	if err := s.checkItems("labels", len(request.Labels)); err != nil {
		return err
	}
	answer := LabelAnswer{Results: make([]api.ItemResult, len(request.Labels))}
	for i, item := range request.Labels {
		result := s.serving.Label(item.ID, string(item.Label))
		answer.Results[i].Status = fates[result.Fate]
		if result.Err != nil {
			answer.Results[i].Error = result.Err.Error()
		}
	}
	s.tellLearning()
	s.store.changed(len(request.Labels))
	return web.WriteJSON(w, http.StatusOK, answer)
}

// tellLearning logs the first row that was not learned from, and that the model learns no more,
// once each.
func (s *Service) tellLearning() {
	if !s.config.Serving.Learn {
		return
	}
	l := s.serving.Learning()
	if l.Skipped > 0 {
		s.tellSkipped.Do(func() {
			s.logger.Warn("a row far larger than the others was not learned from, and others will not be")
		})
	}
	if l.Stopped != nil {
		s.tellStopped.Do(func() {
			s.logger.Error("the model learns no more, and that of the start predicts", "error", l.Stopped)
		})
	}
}

// fates are the fates of labels as answers have them.
var fates = map[serving.Fate]api.ItemStatus{
	serving.Accepted: api.Accepted, serving.Duplicate: api.Duplicate, serving.Late: api.Late,
	serving.Rejected: api.Rejected,
}

// showModel answers with the model and its figures.
func (s *Service) showModel(w http.ResponseWriter, _ *http.Request) error {
	m := s.serving.Model()
	f, err := s.serving.Figures()
	if err != nil {
		return err
	}
	counts, waiting := s.serving.Counts()
	answer := ModelAnswer{
		Task: m.Task.String(), Measure: m.Measure, Algorithm: m.Algorithm, Labels: m.Labels, Features: m.Dim(),
		Calibrated: m.Calibration != nil, Digest: s.digest,
		Counts: Counts{
			Predictions: counts.Predictions, Waiting: waiting, Accepted: counts.Accepted,
			Duplicate: counts.Duplicate, Late: counts.Late, Rejected: counts.Rejected, Dropped: counts.Dropped,
		},
		Figures: Figures{
			Rows: f.Rows, Value: f.Value,
			Window: Window{
				Rows: f.WindowRows, Value: f.WindowValue, Accuracy: f.Exact, AUC: f.AUC, LogLoss: f.LogLoss,
				Brier: f.Brier,
			},
		},
	}
	for _, l := range m.Models {
		answer.Thresholds = append(answer.Thresholds, l.Threshold)
	}
	if s.config.Serving.Learn {
		answer.Learning = s.learning()
	}
	if s.store != nil {
		unsaved, failing, _ := s.store.status()
		answer.State = &State{Unsaved: unsaved, Failing: failing}
	}
	if x := s.model.Figures.Of(m.Measure); x != nil {
		answer.Expected = &Expected{Value: x.Value, Low: x.Low, High: x.High}
	}
	return web.WriteJSON(w, http.StatusOK, answer)
}

func (s *Service) learning() *Learning {
	now := s.serving.Learning()
	l := &Learning{Learned: now.Learned, Held: now.Held, Skipped: now.Skipped}
	if now.Stopped != nil {
		l.Stopped = now.Stopped.Error()
	}
	return l
}

// showFile answers with the model file of the model that predicts.
func (s *Service) showFile(w http.ResponseWriter, _ *http.Request) error {
	m, err := s.serving.Learned()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := classify.WriteModel(&b, m); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.Bytes()) // the client may be gone
	return nil
}
