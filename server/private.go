package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/private/aggregate"
	"github.com/noregret/noregret/server/internal/web"
)

// PrivacyLedgerDir returns the directory of the privacy ledger in a data directory. It is there
// once an experiment has been private.
func PrivacyLedgerDir(data string) string { return filepath.Join(data, "privacy", "ledger") }

// privacyRunsDir returns the directory of the journal of a private experiment, which is secret.
func privacyRunsDir(data, name string) string { return filepath.Join(data, "privacy", "runs", name) }

// privacyRun is the name of the run of a private experiment in its account, which has the
// experiment's name. There is one run for each account: a name is private once.
const privacyRun = "sums"

// privacyHost puts the noise on the sums of private experiments and keeps their ledger. What it
// keeps in memory is lost in a crash; the order of its writes makes that harmless (dp.Journal): the
// budget is reserved before the experiment begins, and a release is in the journal and committed in
// the ledger before it is in the log. The writer calls it, except for private and account.
type privacyHost struct {
	data     string
	logger   *slog.Logger
	options  []dp.Option          // of tests
	testing  bool                 // accepts noise of tests
	released func(sums []float64) // of tests
	// store opens a store in a directory; tests let it fail.
	store func(dir string) (privacyStore, error)

	runs    map[string]*privateRun
	unknown []string    // to the ledger at the start, though they would release more
	ended   atomic.Bool // nothing of unknown would release more
	missing *lostRun    // why the ledger does not know them

	mu     sync.Mutex // held to change the fields below
	ledger *dp.Ledger // nil before the first private experiment
	names  map[string]bool
	// unfinished are the names whose run may not be closed, or whose journal not erased.
	unfinished map[string]bool
	failed     map[string]error // by experiment: why its release waits
}

// privacyStore is a store that can be erased: dp.FileStore, or that of a test.
type privacyStore interface {
	dp.Store
	Erase() error
}

// privateRun is a run that this process has taken over.
type privateRun struct {
	sums    *aggregate.Sums
	journal *dp.Journal
	token   dp.RunToken
}

// newPrivacyHost opens the ledger of a data directory, if there is one. Names are private by the
// ledger or by the state: feedback stays secret where the ledger is lost.
func newPrivacyHost(c *Config, state *experiment.State) (*privacyHost, error) {
	h := &privacyHost{
		data: c.Data, logger: c.Logger, options: c.noise, testing: len(c.noise) > 0,
		store: c.privacyStore, released: c.released,
		runs: map[string]*privateRun{}, names: map[string]bool{}, unfinished: map[string]bool{},
		failed: map[string]error{},
	}
	if h.store == nil {
		h.store = func(dir string) (privacyStore, error) { return dp.OpenFileStore(dir) }
	}
	names, err := PrivateNames(c.Data)
	if err != nil {
		return nil, err
	}
	names = append(names, experiment.PrivateNames(state)...)
	for _, name := range names {
		h.names[name], h.unfinished[name] = true, true
	}
	h.missing = errNoRun
	return h, h.look(state)
}

// look finds the experiments that the ledger does not know though they would release more.
func (h *privacyHost) look(state *experiment.State) error {
	h.unknown = nil
	h.ended.Store(true)
	if h.any() == "" {
		return nil
	}
	if err := h.openLedger(); err != nil {
		return err
	}
	for _, name := range state.Names() {
		_, _, err := h.ledger.Account(name)
		if experiment.Releasing(state, name) && noregret.CodeOf(err) == noregret.NotFound {
			h.unknown = append(h.unknown, name)
			h.ended.Store(false)
		}
	}
	return nil
}

// openLedger opens the ledger unless it is open.
func (h *privacyHost) openLedger() error {
	if h.ledger != nil {
		return nil
	}
	store, err := h.store(PrivacyLedgerDir(h.data))
	if err != nil {
		return err
	}
	l, err := dp.OpenLedger(store)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.ledger = l
	h.mu.Unlock()
	return nil
}

// private reports whether a name is or was that of a private experiment.
func (h *privacyHost) private(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.names[name]
}

// any returns the name of an experiment that is or was private, "" if there is none.
func (h *privacyHost) any() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(h.names)) {
		return name
	}
	return ""
}

// problem returns why the next release of an experiment waits, "" if it does not.
func (h *privacyHost) problem(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.failed[name]; err != nil {
		return "privacy: the next release waits: " + releaseProblem(err)
	}
	return ""
}

// releaseProblem says why a release fails. Readers see it, so it has no paths: those are in the
// service's log.
func releaseProblem(err error) string {
	text := "the ledger or the journal of the noise cannot be read or written"
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		text += " (" + errno.Error() + ")"
	} else if noregret.CodeOf(err) == noregret.BadInput {
		text = "the ledger or the journal of the noise is damaged"
	}
	return text + "; the service's log says more"
}

// spent sets the ε that the ledger has charged to an experiment: the whole budget, which is
// reserved when an experiment begins, if the ledger is lost or cannot say it.
func (h *privacyHost) spent(name string, r *api.PrivacyReport) {
	h.mu.Lock()
	ledger := h.ledger
	h.mu.Unlock()
	r.Spent, r.Unknown = r.Epsilon, "the ledger is lost: the whole budget counts as spent"
	if ledger == nil {
		return
	}
	v, err := ledger.Spent(name, r.Delta)
	switch {
	case err == nil && !math.IsInf(v, 0):
		r.Spent, r.Unknown = v, ""
	case noregret.CodeOf(err) != noregret.NotFound:
		r.Unknown = "the ledger cannot be read: the whole budget counts as spent"
	}
}

// note records the outcome of a release.
func (h *privacyHost) note(name string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		delete(h.failed, name)
		return
	}
	if h.failed[name] == nil {
		h.logger.Error("a release of a private experiment waits until it can be made durable", "experiment", name,
			"error", err)
	}
	h.failed[name] = err
}

// admit refuses to create an experiment under the name of one that was private: its budget is
// spent, and whoever reads the log could not tell the two apart. A run without a release is taken
// over, such as that of a creation that a crash has interrupted.
func (h *privacyHost) admit(d *definition.Definition) error {
	if !h.private(d.Name) {
		return nil
	}
	if d.Privacy == nil {
		return noregret.BadInputf("name", "%q was the name of a private experiment: choose another one", d.Name)
	}
	if err := h.openLedger(); err != nil {
		return err
	}
	_, runs, err := h.ledger.Account(d.Name)
	if noregret.CodeOf(err) == noregret.NotFound {
		return noregret.BadInputf("name", "%q is or was the name of a private experiment of which the ledger knows "+
			"nothing: choose another one", d.Name)
	}
	begun := len(runs) > 0 && (runs[0].Steps > 0 || runs[0].State == dp.Closed)
	if err == nil && !begun { // a crash may have come between the journal and the ledger
		_, begun, err = h.journal(d.Name)
	}
	if err == nil && begun {
		return noregret.BadInputf("name", "%q was the name of a private experiment, whose budget is spent: choose "+
			"another one, which is charged to the same units once more", d.Name)
	}
	return err
}

// journal returns the store of an experiment's journal, and whether the journal has a step. It does
// not create the directory: the store is nil where there is none.
func (h *privacyHost) journal(name string) (store privacyStore, begun bool, err error) {
	dir := privacyRunsDir(h.data, name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if store, err = h.store(dir); err != nil {
		return nil, false, err
	}
	_, epoch, err := store.Load()
	return store, epoch > 0, err
}

// open reserves the budget of a private experiment durably and returns the event that says so.
func (h *privacyHost) open(d *definition.Definition, now int64) (experiment.Event, error) {
	fail := func(err error) (experiment.Event, error) { return experiment.Event{}, err }
	config, ok := experiment.PrivateConfig(d)
	if !ok {
		return fail(noregret.Errorf(noregret.Internal, "privacy", "%q is not private", d.Name))
	}
	sums, err := aggregate.New(config, h.options...)
	if err != nil {
		return fail(err)
	}
	defer sums.Close()
	budget, err := d.Privacy.Budget()
	if err != nil {
		return fail(err)
	}
	if err := h.openLedger(); err != nil {
		return fail(err)
	}
	st := sums.Statement()
	err = h.ledger.Open(d.Name, dp.AccountConfig{
		Protection: dp.PerUser(d.Privacy.UnitContribution), Budget: budget, Testing: h.testing,
	})
	if err != nil {
		return fail(err)
	}
	h.mu.Lock()
	h.names[d.Name], h.unfinished[d.Name] = true, true
	h.mu.Unlock()
	run := dp.Run{ID: privacyRun, Charge: sums.Charge(), Statement: st}
	_, runs, err := h.ledger.Account(d.Name)
	switch {
	case err != nil:
		return fail(err)
	case len(runs) == 0:
		if _, err := h.ledger.Reserve(d.Name, run); err != nil {
			return fail(err)
		}
	case runs[0].Charge != run.Charge || !reflect.DeepEqual(runs[0].Statement, st):
		return fail(web.Conflict(noregret.BadInputf("privacy", "the ledger has reserved %q for another definition, "+
			"which released nothing: choose another name, or the arms, metrics and privacy of then", d.Name)))
	}
	delete(h.runs, d.Name)
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return fail(err)
	}
	return experiment.NewEvent(experiment.KindPrivacy, now, experiment.PrivacyEvent{
		Experiment: d.Name, Secret: hex.EncodeToString(secret), Statement: &st,
	})
}

// release makes the next release of a private experiment durable and returns its event. Before it
// returns, the journal has the release and the ledger the commit, so that after a crash the same
// release is made again. An error leaves the release for later. If the state of the noise is not
// that of the log, the event ends the releases: with other noise they would cost more than was
// reserved.
func (h *privacyHost) release(r *experiment.Release, now int64) (experiment.Event, error) {
	run, err := h.take(r)
	var step []float64
	if err == nil {
		step, err = run.release(h, r)
	}
	e := experiment.ReleaseEvent{Experiment: r.Experiment, Step: r.Step, Version: r.Version, Sums: step}
	if lost, ok := errors.AsType[*lostRun](err); ok {
		e = experiment.ReleaseEvent{Experiment: r.Experiment, Ended: lost.reason}
		err = nil
	}
	if err != nil {
		delete(h.runs, r.Experiment) // what is durable is unknown: begin anew from the disk
	}
	h.note(r.Experiment, err)
	if err != nil {
		return experiment.Event{}, err
	}
	return experiment.NewEvent(experiment.KindRelease, now, e)
}

// lostRun is the error of a run that must not go on.
type lostRun struct{ reason string }

// Error implements error.
func (e *lostRun) Error() string { return e.reason }

var errNoRun = &lostRun{"the ledger has no such run: it is not that of the log"}

// endUnknown returns the events that end the releases of experiments that the ledger does not know,
// which would end with the next release anyway.
func (h *privacyHost) endUnknown(state *experiment.State, now int64) (events []experiment.Event, err error) {
	for _, name := range h.unknown {
		if !experiment.Releasing(state, name) {
			continue
		}
		e, err := experiment.NewEvent(experiment.KindRelease, now,
			experiment.ReleaseEvent{Experiment: name, Ended: h.missing.reason})
		if err != nil {
			return nil, err
		}
		events = append(events, e)
		h.logger.Error("a private experiment releases nothing more", "experiment", name, "reason", h.missing.reason)
	}
	return events, nil
}

// take returns the run of an experiment. The first time it takes it over from the disk.
func (h *privacyHost) take(r *experiment.Release) (*privateRun, error) {
	if run := h.runs[r.Experiment]; run != nil {
		return run, nil
	}
	if err := h.openLedger(); err != nil {
		return nil, err
	}
	dir := privacyRunsDir(h.data, r.Experiment)
	store, err := h.store(dir)
	if err != nil {
		return nil, err
	}
	run := &privateRun{}
	if run.journal, err = dp.OpenJournal(store, r.Experiment); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if run.sums, err = aggregate.New(r.Config, h.options...); err != nil {
		return nil, err
	}
	last, any := run.journal.Last()
	if any {
		if err := run.sums.UnmarshalBinary(last.State); err != nil {
			return nil, err
		}
	}
	run.token, err = h.ledger.Resume(r.Experiment, privacyRun, last.Steps)
	switch {
	case errors.Is(err, dp.ErrClosed):
		return nil, &lostRun{"the journal of the noise is older than the ledger, or the run is closed"}
	case noregret.CodeOf(err) == noregret.NotFound:
		return nil, errNoRun
	case err != nil:
		return nil, err
	}
	h.runs[r.Experiment] = run
	return run, nil
}

// release returns the noisy sums of a step: those of the journal if the step has been made before.
func (run *privateRun) release(h *privacyHost, r *experiment.Release) ([]float64, error) {
	last, _ := run.journal.Last()
	switch last.Steps {
	case r.Step:
	case r.Step - 1:
		out := make([]float64, len(r.Sums))
		if err := run.sums.Step(r.Sums, out); err != nil {
			return nil, err
		}
		if h.released != nil {
			h.released(out)
		}
		state, err := run.sums.MarshalBinary()
		if err != nil {
			return nil, err
		}
		last = dp.Checkpoint{Steps: r.Step, State: state, Release: append(toBytes(out), stamp(r)...)}
		if err := run.journal.Write(last); err != nil {
			return nil, err
		}
	default:
		return nil, &lostRun{"the journal of the noise is not that of the log: one of the two was restored or has " +
			"lost events"}
	}
	numbers, ok := bytes.CutSuffix(last.Release, stamp(r))
	if !ok || len(numbers) != 8*len(r.Sums) {
		return nil, &lostRun{"the journal of the noise is that of other sums: the log was restored or has lost " +
			"events"}
	}
	if err := h.ledger.Commit(run.token, r.Step); err != nil {
		return nil, err
	}
	return fromBytes(numbers), nil
}

// stamp returns 32 bytes that say what was released: the version and its exact sums. Without it, a
// release could be that of units who are not in the log any more, and who would count anew.
func stamp(r *experiment.Release) []byte {
	b := binary.LittleEndian.AppendUint64(nil, r.Version)
	for _, v := range r.Sums {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// finish closes the runs of experiments that release nothing more, because they have ended or are
// deleted, and erases their noise and exact sums: the run first, so that no crash lets it go on
// without its journal. The run of a deleted experiment that has released nothing stays, so that the
// name may be used again.
func (h *privacyHost) finish(state *experiment.State) error {
	h.mu.Lock()
	names := slices.Sorted(maps.Keys(h.unfinished))
	h.mu.Unlock()
	var failed error
	for _, name := range names {
		if experiment.Releasing(state, name) {
			continue
		}
		if err := h.close(name, state.Private(name)); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		h.mu.Lock()
		delete(h.unfinished, name)
		delete(h.failed, name)
		h.mu.Unlock()
	}
	return failed
}

// finishes reports whether [privacyHost.finish] has something to do.
func (h *privacyHost) finishes(state *experiment.State) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.unfinished {
		if !experiment.Releasing(state, name) {
			return true
		}
	}
	return false
}

// close closes the run of an experiment that has ended or released something, and erases its
// journal.
func (h *privacyHost) close(name string, ended bool) error {
	_, runs, err := h.ledger.Account(name)
	if err != nil && noregret.CodeOf(err) != noregret.NotFound { // a ledger that was lost has none
		return err
	}
	store, begun, err := h.journal(name)
	if err != nil {
		return err
	}
	if len(runs) > 0 && runs[0].State != dp.Closed && (ended || begun || runs[0].Steps > 0) {
		token, err := h.ledger.Resume(name, privacyRun, runs[0].Steps)
		if err == nil {
			err = h.ledger.Close(token)
		}
		if err != nil {
			return err
		}
	}
	if store != nil {
		if err := store.Erase(); err != nil {
			return err
		}
	}
	if run := h.runs[name]; run != nil {
		run.sums.Close()
		delete(h.runs, name)
	}
	return nil
}

// toBytes and fromBytes convert a release for the journal.
func toBytes(v []float64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func fromBytes(b []byte) []float64 {
	out := make([]float64, len(b)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return out
}

// release makes the releases that private experiments wait for, one for each in a command. One that
// fails waits for the next call. It then closes the runs of experiments that release nothing more.
func (w *writer) release(ctx context.Context) error {
	err := w.endUnknown(ctx)
	err = errors.Join(err, w.releaseDue(ctx))
	if w.live.finishes(w.privacy) {
		_, err2 := w.submit(ctx, &command{make: func(state *experiment.State, _ int64) ([]experiment.Event, error) {
			return nil, w.privacy.finish(state)
		}})
		err = errors.Join(err, err2)
	}
	return err
}

// endUnknown ends, once, the releases of experiments that the ledger does not know.
func (w *writer) endUnknown(ctx context.Context) error {
	if w.privacy.ended.Load() {
		return nil
	}
	outcomes, err := w.submit(ctx, &command{make: func(state *experiment.State, now int64) ([]experiment.Event, error) {
		return w.privacy.endUnknown(state, now)
	}})
	if err = errors.Join(err, refused(outcomes)); err == nil {
		w.privacy.ended.Store(true)
	}
	return err
}

func (w *writer) releaseDue(ctx context.Context) error {
	for w.live.releases() {
		made, err := 0, error(nil)
		outcomes, err2 := w.submit(ctx, &command{make: func(state *experiment.State, now int64,
		) (events []experiment.Event, _ error) {
			todo := state.Releases()
			for i := range todo {
				e, failed := w.privacy.release(&todo[i], now)
				if failed == nil {
					events = append(events, e)
				}
				err = errors.Join(err, failed)
			}
			made = len(events)
			return events, nil
		}})
		if err2 != nil {
			return err2
		}
		if err := errors.Join(err, refused(outcomes)); err != nil || made == 0 {
			return err
		}
	}
	return nil
}
