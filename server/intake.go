package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/server/internal/access"
)

// intake decides which units may begin to wait for feedback, and watches how many items are not
// counted. Units wait in memory, so there is a bound for all experiments together, and one for each
// access token in each experiment.
type intake struct {
	live    *liveState
	tokens  *access.Tokens
	memory  int64       // bytes for all units that wait
	disk    int64       // bytes of the file for those beyond the memory
	pool    *pages.Pool // of both, nil without a file
	now     func() time.Time
	logger  *slog.Logger
	private func(name string) bool // is or was that of a private experiment
	waiting atomic.Int64           // bytes of the units that wait

	mu     sync.Mutex
	fixed  int64            // bytes of waiting that must be in memory
	needs  map[string]need  // by experiment; only the writer changes it
	held   int64            // bytes of reservations
	holds  map[opener]int64 // units of reservations, by token and experiment
	opened map[opener]*opened
	flows  map[flowKey]*flow
	period int64 // of the counts in flows, in units of watchPeriod
}

// opener is an access token in an experiment.
type opener struct{ token, experiment string }

// opened counts the units that a token has made wait within the last attribution window, in parts
// of the window.
type opened struct {
	parts [16]int64
	part  int64 // the number of the latest part since 1970
	mine  time.Duration
}

// advance forgets the parts of the window that are over.
func (o *opened) advance(now time.Time) {
	part := now.UnixNano() / max(int64(o.mine)/int64(len(o.parts)), 1)
	for k := min(part-o.part, int64(len(o.parts))); k > 0; k-- {
		o.parts[(part-k+1)%int64(len(o.parts))] = 0
	}
	o.part = max(part, o.part)
}

func (o *opened) sum() (n int64) {
	for _, k := range o.parts {
		n += k
	}
	return n
}

func newIntake(c *Config, live *liveState, tokens *access.Tokens, pool *pages.Pool) *intake {
	i := &intake{
		live: live, tokens: tokens, memory: c.OpenMemory, disk: c.OpenDisk, pool: pool, now: c.Now, logger: c.Logger,
		needs: map[string]need{}, holds: map[opener]int64{}, opened: map[opener]*opened{}, flows: map[flowKey]*flow{},
	}
	for _, name := range append(live.state.Names(), live.state.Deleted.Names()...) {
		i.measure(name)
	}
	return i
}

// principal returns the owner of a request's access token, nil where none is required.
func (i *intake) principal(r *http.Request) *access.Principal {
	if !i.tokens.Required() {
		return nil
	}
	return i.tokens.Find(r)
}

// count counts the units that an event of a token has made wait.
func (i *intake) count(p *access.Principal, name string, n int64) {
	if p == nil || n <= 0 {
		return
	}
	d, err := i.live.Definition(name)
	if err != nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	key := opener{p.Name, name}
	o := i.opened[key]
	if _, longest := d.Windows(); o == nil || o.mine != longest {
		o = &opened{mine: longest}
		i.opened[key] = o
	}
	o.advance(i.now())
	o.parts[o.part%int64(len(o.parts))] += n
}

// flowKey is a kind of items of an experiment, or of a sender if it has no experiment.
type flowKey struct{ experiment, sender, kind string }

// flow counts items in the present period and in the one before.
type flow struct {
	present, before api.Counts
	reason          string // of the first item of the present period that was not counted
}

// watchPeriod is how often the shares of items that are not counted are looked at and logged.
const watchPeriod = time.Minute

// note counts the results of items.
func (i *intake) note(name, kind string, items ...api.ItemResult) {
	if len(items) == 0 || kind == experiment.KindFeedback && i.private(name) {
		return // how much feedback a private experiment gets is not published
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	f := i.flow(flowKey{experiment: name, kind: kind})
	for k := range items {
		status := items[k].Status
		f.present.Add(status, 1)
		if f.reason == "" && (status == api.Rejected || status == api.Late) {
			f.reason = items[k].Error
		}
	}
}

// noteSender counts the items of a request for their sender: all of them, of which those at the
// places of strays are rejected and count for no experiment. There are as many flows of senders as
// access tokens, nothing that a request says adds one.
func (i *intake) noteSender(p *access.Principal, kind string, items []api.ItemResult, all int, strays []int) {
	name := ""
	if p != nil {
		name = p.Name
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	f := i.flow(flowKey{sender: name, kind: kind})
	f.present.Add(api.Rejected, int64(len(strays)))
	f.present.Add(api.Accepted, int64(all-len(strays)))
	if f.reason == "" && len(strays) > 0 {
		f.reason = items[strays[0]].Error
	}
}

// flow returns the flow of a key. The caller holds the lock.
func (i *intake) flow(key flowKey) *flow {
	f := i.flows[key]
	if f == nil {
		f = &flow{}
		i.flows[key] = f
	}
	return f
}

// stray says whose items count for no experiment, "" for those of an experiment.
func (k flowKey) stray() string {
	switch {
	case k.experiment != "":
		return ""
	case k.sender == "":
		return "items count for no experiment, as they are not valid or their tokens are not the service's own"
	}
	return fmt.Sprintf("the access token %q sends items that count for no experiment, as they are not valid, their "+
		"tokens are not the service's own, or it may not use the experiment", k.sender)
}

// watch begins a new period if the present one is over, and logs each kind of items of which a
// share was not counted.
func (i *intake) watch() {
	i.mu.Lock()
	defer i.mu.Unlock()
	period := i.now().UnixNano() / int64(watchPeriod)
	if period == i.period {
		return
	}
	i.period = period
	if i.pool != nil && i.pool.Err() != nil {
		i.logger.Warn("units that wait for feedback cannot be written to the disk", "error", i.pool.Err())
	}
	for key, f := range i.flows { // the order is that of log lines only
		if text := experiment.RefusalProblem(key.kind, f.present); text != "" {
			if of := key.stray(); of != "" {
				i.logger.Warn(of+": "+text, "token", key.sender, "first_reason", f.reason)
			} else {
				i.logger.Warn(text, "experiment", key.experiment, "first_reason", f.reason)
			}
		}
		f.before, f.present, f.reason = f.present, api.Counts{}, ""
		if f.before == (api.Counts{}) {
			delete(i.flows, key)
		}
	}
}

// recent returns the counts of this period and of the last one.
func (f *flow) recent() api.Counts {
	c := f.present
	c.Accepted += f.before.Accepted
	c.Duplicate += f.before.Duplicate
	c.Late += f.before.Late
	c.Rejected += f.before.Rejected
	return c
}

// refused returns the share of items of a kind that were rejected or late within the last one or
// two minutes, by experiment, and the share of those that count for no experiment, by sender.
func (i *intake) refused(report func(key flowKey, share float64)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for key, f := range i.flows {
		c := f.recent()
		if all := c.Accepted + c.Duplicate + c.Late + c.Rejected; all > 0 {
			report(key, float64(c.Late+c.Rejected)/float64(all))
		}
	}
}

// problems returns what operators should know about an experiment: items that were not counted
// within the last minutes, and memory that runs out.
func (i *intake) problems(name string) (out []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, kind := range []string{"exposures", "feedback"} {
		if f := i.flows[flowKey{experiment: name, kind: kind}]; f != nil {
			if text := experiment.RefusalProblem(kind, f.recent()); text != "" {
				out = append(out, "in the last minutes: "+text)
			}
		}
	}
	if text := i.shortage(); text != "" {
		out = append(out, text)
	}
	return out
}
