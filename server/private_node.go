package server

import "github.com/noregret/noregret/experiment"

// learn notes that an experiment is private, which another node may have begun.
func (h *privacyHost) learn(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.names[name], h.unfinished[name] = true, true
}

// takeOver prepares the host of a node that begins to lead. Another one may have led meanwhile, so
// runs begin anew from the disk, and those end whose ledger and journal another node has.
func (h *privacyHost) takeOver(state *experiment.State) error {
	for _, run := range h.runs {
		run.sums.Close()
	}
	clear(h.runs)
	h.missing = errElsewhere
	return h.look(state)
}

// errElsewhere is the error of a run that another node has begun.
var errElsewhere = &lostRun{"another node leads now, and the journal of the noise is on the one that led before"}
