package server

import (
	"errors"
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
)

// protocol is the version of the rules for several nodes that this program knows, and firstProtocol
// the one of a log whose nodes have agreed on no other.
const (
	firstProtocol = 1
	protocol      = 1
)

// misfit is the error of a node that must not go on with the one that leads.
type misfit struct{ err error }

// Error implements error.
func (m *misfit) Error() string { return m.err.Error() }

// Unwrap is for [errors.Is].
func (m *misfit) Unwrap() error { return m.err }

func isMisfit(err error) bool {
	_, ok := errors.AsType[*misfit](err)
	return ok
}

// misfits is the message of an outage that ends with another program or other keys.
const misfits = "this node does not fit the one that leads: it stops"

// fits returns an error if this node must not follow the one that leads, or go on with the state
// that that one has made: if it does not know the rules, or if one of the two refuses tokens that
// the other one signs.
func (n *node) fits(l *experiment.LeadsEvent) error {
	if l.Protocol > n.protocol {
		return &misfit{noregret.Errorf(noregret.Usage, "protocol", "the node %s leads by version %d of the rules for "+
			"nodes, and this program knows those up to %d: want a newer program", l.Address, l.Protocol, n.protocol)}
	}
	key, digests := n.signer.KeyDigests()
	if l.Keys[l.Key] != digests[l.Key] || l.Keys[key] != digests[key] {
		return &misfit{noregret.Errorf(noregret.Usage, "keys", "the node %s signs tokens with other keys: want the "+
			"same keys on all nodes; copy keys.json in its data directory to that of this node", l.Address)}
	}
	return nil
}

// admit returns an error for an event with which a node begins to lead that this one does not fit.
func (n *node) admit(e experiment.Event) error {
	l, err := experiment.OpenLeads(e)
	if err != nil {
		return nil // the fold refuses it
	}
	return n.fits(&l)
}

// leads returns the event with which this node begins to lead. It keeps to the rules of the log, so
// that nodes go on which are not upgraded yet, unless it was told that all are.
func (n *node) leads(state *experiment.State, term uint64, now int64) (experiment.Event, error) {
	rules := firstProtocol
	if l := experiment.Leader(state); l != nil {
		rules = max(rules, l.Protocol)
	}
	key, digests := n.signer.KeyDigests()
	return experiment.NewEvent(experiment.KindLeads, now, experiment.LeadsEvent{
		Term: term, Address: n.Address, Protocol: max(rules, n.Rules), Keys: digests, Key: key,
	})
}

// check returns an error if a service must not begin with a state.
func (n *node) check(c *Config, state *experiment.State) error {
	l := experiment.Leader(state)
	if n == nil || l == nil {
		return nil
	}
	err := n.fits(l)
	keys := l.Protocol <= n.protocol // so it is the keys that do not fit
	if err != nil && keys && c.NewKeys {
		return nil // it leads with the new ones
	}
	if err != nil && keys && l.Address == n.Address {
		return fmt.Errorf("%w; that node was this one: --new-keys (Config.NewKeys) goes on with other keys", err)
	}
	return err
}
