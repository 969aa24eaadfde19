package server

import (
	"fmt"

	"github.com/noregret/noregret/experiment/definition"
)

// begins says what an operator should know before a private experiment begins, nil for another one:
// the account that it opens, beside those of others, and what is weak about its budget.
func (h *privacyHost) begins(d *definition.Definition) (out []string) {
	p := d.Privacy
	if p == nil {
		return nil
	}
	text := fmt.Sprintf("privacy: a new account begins, with epsilon %.6g and delta %.6g", p.Epsilon, p.Delta)
	n, epsilon, delta := 0, 0.0, 0.0
	h.mu.Lock()
	ledger := h.ledger
	h.mu.Unlock()
	if ledger != nil {
		names, _ := ledger.Accounts() // the reservation reports errors
		for _, name := range names {
			c, _, err := ledger.Account(name)
			if spent, err2 := ledger.Spent(name, c.Budget.Delta()); name != d.Name && err == nil && err2 == nil {
				n, epsilon, delta = n+1, epsilon+spent, delta+c.Budget.Delta()
			}
		}
	}
	if n == 0 {
		text += "; it is the first of this service"
	} else {
		text += fmt.Sprintf("; %d others of this service have spent epsilon %.6g and delta %.6g together, and what is "+
			"spent on the same units adds up", n, epsilon, delta)
	}
	return append([]string{text}, definition.PrivacyNotes(d)...)
}
