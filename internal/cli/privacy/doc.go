// Package privacy has the commands "noregret privacy": plan compares private mechanisms before a
// run, ledger prints what is spent of budgets, and audit attacks a mechanism.
package privacy
